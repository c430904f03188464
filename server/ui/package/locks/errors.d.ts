import type { ProjectLockError, ProjectLockErrorCode } from './types.js';
export declare function lockError(code: ProjectLockErrorCode, retryable: boolean, cause?: unknown, context?: Record<string, unknown>): ProjectLockError;
export declare function isProjectLockError(e: unknown): e is ProjectLockError;

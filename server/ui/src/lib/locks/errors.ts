import type { ProjectLockError, ProjectLockErrorCode } from './types.js';

class LockError extends Error implements ProjectLockError {
  override readonly name = 'ProjectLockError';
  declare readonly context?: Record<string, unknown>;

  constructor(
    readonly code: ProjectLockErrorCode,
    readonly retryable: boolean,
    cause?: unknown,
    context?: Record<string, unknown>,
  ) {
    super(`project lock: ${code}`, cause === undefined ? {} : { cause });
    if (context) this.context = context;
  }
}

export function lockError(
  code: ProjectLockErrorCode,
  retryable: boolean,
  cause?: unknown,
  context?: Record<string, unknown>,
): ProjectLockError {
  return new LockError(code, retryable, cause, context);
}

export function isProjectLockError(e: unknown): e is ProjectLockError {
  return e instanceof LockError;
}

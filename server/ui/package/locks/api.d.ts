import { type ProjectLockParts } from './parts.js';
import type { ProjectLockApi } from './types.js';
/** A project lock of its own. Parts that are left out are the browser's. */
export declare function createProjectLockApi(parts?: ProjectLockParts): ProjectLockApi;

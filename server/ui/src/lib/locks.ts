/**
 * The project lock: one writer for one project, over all tabs and, with the HTTP store, over browsers and commands too.
 * docs/project-lock.md tells what it promises.
 */
import { createProjectLockApi } from './locks/api.js';
import type { ProjectLockApi } from './locks/types.js';

export { createProjectLockApi } from './locks/api.js';
export { isProjectLockError } from './locks/errors.js';
export { httpStore, type HttpStoreOptions } from './locks/http_store.js';
export { httpTelemetry, type HttpTelemetryOptions } from './locks/http_telemetry.js';
export { opfsStore, type OpfsStoreOptions } from './locks/opfs_store.js';
export type { PageEvents, ProjectLockParts } from './locks/parts.js';
export type { ProjectLockRecord, StoredLock } from './locks/record.js';
export type { Previous, ProjectLockStore } from './locks/store.js';
export { toTelemetry, type ProjectLockTelemetry } from './locks/telemetry.js';
export type * from './locks/types.js';

let shared: ProjectLockApi | undefined;
/** Made when first used, so that importing the module touches nothing. */
const api = (): ProjectLockApi => (shared ??= createProjectLockApi());

export const acquireProjectLock: ProjectLockApi['acquireProjectLock'] = (opts) => api().acquireProjectLock(opts);
export const renewProjectLock: ProjectLockApi['renewProjectLock'] = (lease, opts) => api().renewProjectLock(lease, opts);
export const releaseProjectLock: ProjectLockApi['releaseProjectLock'] = (lease, opts) =>
  api().releaseProjectLock(lease, opts);
export const withProjectLock: ProjectLockApi['withProjectLock'] = (fn, opts) => api().withProjectLock(fn, opts);
export const subscribeLockEvents: ProjectLockApi['subscribeLockEvents'] = (listener) =>
  api().subscribeLockEvents(listener);

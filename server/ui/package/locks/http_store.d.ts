import { type ProjectLockStore } from './store.js';
export interface HttpStoreOptions {
    readonly fetch?: typeof fetch;
    readonly headers?: Readonly<Record<string, string>>;
}
/**
 * The record on a server: GET gives it or 404; PUT and DELETE carry `If-Match: "<leaseId>"` or `If-None-Match: *` and
 * are answered 412 when that is not so. Requests are sent keepalive, so that the last one survives its page.
 */
export declare function httpStore(url: string, options?: HttpStoreOptions): ProjectLockStore;

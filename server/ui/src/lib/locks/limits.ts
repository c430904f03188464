/** Time to live of a lease that a Web Lock holds, in milliseconds. */
export const WEB_LOCK_TTL = 25_000;
/** Time to live of a lease that the `.lock` record alone holds. */
export const FILE_LOCK_TTL = 30_000;
/** The heartbeat comes this long before a lease ends. */
export const HEARTBEAT_LEAD = 5_000;
/** A holder stops writing this long before others may take over; it covers a write under way and small clock differences. */
export const WRITE_MARGIN = 1_000;
/** Tries of one acquire, one renewal or one release. */
export const MAX_LOCK_RETRIES = 3;
/** Failed renewals in a row that end a lease. */
export const MAX_FAILED_RENEWALS = 2;
export const BACKOFF: readonly [number, number, number] = [500, 1_000, 2_000];
/** How long the browser or the store may take to answer. */
export const ACQUIRE_TIMEOUT = 5_000;
export const RENEW_TIMEOUT = 1_500;
/** What the clocks of a record's writer and ours may differ by before its times are not believed. */
export const CLOCK_TOLERANCE = 5_000;
export const WEB_LOCK_NAME = 'imgponic:project';

export const ttlOf = (strategy: 'web-lock' | 'file-lock'): number =>
  strategy === 'web-lock' ? WEB_LOCK_TTL : FILE_LOCK_TTL;

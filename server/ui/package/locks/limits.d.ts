/** Time to live of a lease that a Web Lock holds, in milliseconds. */
export declare const WEB_LOCK_TTL = 25000;
/** Time to live of a lease that the `.lock` record alone holds. */
export declare const FILE_LOCK_TTL = 30000;
/** The heartbeat comes this long before a lease ends. */
export declare const HEARTBEAT_LEAD = 5000;
/** A holder stops writing this long before others may take over; it covers a write under way and small clock differences. */
export declare const WRITE_MARGIN = 1000;
/** Tries of one acquire, one renewal or one release. */
export declare const MAX_LOCK_RETRIES = 3;
/** Failed renewals in a row that end a lease. */
export declare const MAX_FAILED_RENEWALS = 2;
export declare const BACKOFF: readonly [number, number, number];
/** How long the browser or the store may take to answer. */
export declare const ACQUIRE_TIMEOUT = 5000;
export declare const RENEW_TIMEOUT = 1500;
/** What the clocks of a record's writer and ours may differ by before its times are not believed. */
export declare const CLOCK_TOLERANCE = 5000;
export declare const WEB_LOCK_NAME = "imgponic:project";
export declare const ttlOf: (strategy: "web-lock" | "file-lock") => number;

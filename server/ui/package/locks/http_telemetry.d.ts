import type { PageEvents } from './parts.js';
import type { ProjectLockEvent } from './types.js';
export interface HttpTelemetryOptions {
    readonly fetch?: typeof fetch;
    readonly headers?: Readonly<Record<string, string>>;
    readonly now?: () => number;
    readonly setTimeout?: (run: () => void, ms: number) => unknown;
    readonly page?: PageEvents | null;
}
/**
 * A listener that sends the lines to a server, collected for a second and, when the page goes away, at once. What
 * cannot be sent is lost: telemetry never stops an editor.
 */
export declare function httpTelemetry(url: string, o?: HttpTelemetryOptions): (event: ProjectLockEvent) => void;

/** How to reach Argo CD; all times in milliseconds. */
export interface ArgoCdConfig {
  /** Base URL; its path is kept as a prefix (Argo CD's `--rootpath`). */
  readonly serverUrl: string;
  readonly token: string;
  /** Accept any certificate, in this client only. */
  readonly insecure: boolean;
  /** Renders that run at the same time. */
  readonly renderConcurrency: number;
  readonly renderTimeoutMs: number;
  readonly syncTimeoutMs: number;
  /** Deadline of every call that is no render. */
  readonly requestTimeoutMs: number;
  readonly pollIntervalMs: number;
}

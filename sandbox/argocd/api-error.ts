/** The gRPC codes that Argo CD's API returns, by name. */
export const codes = {
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  failedPrecondition: 9,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

export type Code = (typeof codes)[keyof typeof codes];

/** HTTP statuses as grpc-gateway v1.16 maps them: https://github.com/grpc-ecosystem/grpc-gateway/blob/v1.16.0/runtime/errors.go */
const statuses: Readonly<Record<Code, number>> = {
  2: 500,
  3: 400,
  4: 504,
  5: 404,
  7: 403,
  9: 400,
  13: 500,
  14: 503,
  16: 401,
};

/** An error answer; its message is sent word for word. */
export class ApiError extends Error {
  constructor(
    readonly code: Code,
    message: string,
  ) {
    super(message);
    this.name = "ApiError";
  }

  get status(): number {
    return statuses[this.code];
  }

  get body(): { error: string; code: number; message: string } {
    return { error: this.message, code: this.code, message: this.message };
  }
}

export function unknown(message: string): ApiError {
  return new ApiError(codes.unknown, message);
}

export function invalid(message: string): ApiError {
  return new ApiError(codes.invalidArgument, message);
}

export function failedPrecondition(message: string): ApiError {
  return new ApiError(codes.failedPrecondition, message);
}

export function applicationNotFound(name: string): ApiError {
  return new ApiError(codes.notFound, `applications.argoproj.io "${name}" not found`);
}

export function permissionDenied(message = "permission denied"): ApiError {
  return new ApiError(codes.permissionDenied, message);
}

/** How one Argo CD process quotes another's error. */
export function quoted(error: unknown): string {
  const name: Partial<Record<Code, string>> = {
    5: "NotFound",
    7: "PermissionDenied",
    9: "FailedPrecondition",
    13: "Internal",
  };
  const code = error instanceof ApiError ? (name[error.code] ?? "Unknown") : "Unknown";
  return `rpc error: code = ${code} desc = ${error instanceof Error ? error.message : String(error)}`;
}

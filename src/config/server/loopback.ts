/** Whether a host name, as in `server.host` or an address, can only be this machine. */
export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|::1|\[::1\]|127(?:\.\d{1,3}){3})$/i.test(hostname);
}

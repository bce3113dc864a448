/** Whether only this machine reaches the controller by this host name. */
export const isLocal = (hostname: string): boolean => /^(localhost|127\.|\[::1\])/.test(hostname)

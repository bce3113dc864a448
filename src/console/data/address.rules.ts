/** Whether only this machine reaches the controller by this host name. */
export const isLocal = (hostname: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

/** The host name of an address; nothing of one that is half typed. */
export const hostOf = (address: string): string => (URL.canParse(address) ? new URL(address).hostname : '')

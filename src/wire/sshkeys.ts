import * as z from 'zod'

/** One line of an OpenSSH public key: type, key, comment. */
export const publicKeyLine = z
  .string()
  .trim()
  .min(1)
  .max(4000)
  .regex(
    /^(ssh-ed25519|ssh-rsa|ecdsa-sha2-[a-z0-9-]+) [A-Za-z0-9+/=]+( [^\r\n]*)?$/,
    'expected one OpenSSH public key line',
  )

/** The public keys of a host's SSH server (`/etc/ssh/ssh_host_*_key.pub`): what a runner pins. */
export const HostKeys = z.array(publicKeyLine).max(8)

export const HostKeysChange = z.strictObject({ hostKeys: HostKeys })

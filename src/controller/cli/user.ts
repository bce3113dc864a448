// roomtone user: regains access when nobody can log in.

import { randomBytes } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { hashPassword } from '../../crypto/password.ts'
import { iso, systemClock } from '../../kernel/clock.ts'
import { misuse } from '../../kernel/fail.ts'
import { randomIds } from '../../kernel/ids.ts'
import { isLoopback } from '../../kernel/loopback.ts'
import type { CurrentUser } from '../../wire/access.ts'
import { ROLES, type Role } from '../../wire/permissions.ts'
import type { Config } from '../config.ts'
import { type AuditEntry, audit } from '../http/audit.ts'
import { systemActor } from '../http/principal.ts'
import { userSnapshot } from '../identity/access/access.rules.ts'
import { userStore } from '../identity/access/users.store.ts'
import { linkAddress } from '../identity/auth/link.rules.ts'
import { linkStore } from '../identity/auth/links.store.ts'
import type { Db } from '../store/db.ts'
import { ENVIRONMENT_HELP, openDatabase, runVerb, say } from './verb.ts'

const HELP = `usage: roomtone user list
       roomtone user password EMAIL     sets a new password and ends every session of the account
       roomtone user add EMAIL [--name NAME] [--role ROLE]
       roomtone user enable EMAIL       lets a disabled account in again
       roomtone user link EMAIL         an address that signs the account in, once, on this machine, within ten minutes

The password is read from standard input when something is piped in; otherwise one is generated and printed once. The
controller may be running. Roles: ${ROLES.join(', ')} (default: owner).
${ENVIRONMENT_HELP}
Anyone who can write its data directory may use this.
`

const GENERATED_BYTES = 18
const ACTOR = { actor: systemActor('command-line'), outcome: 'succeeded', permission: 'auth:manage' } as const

export const main = (args: string[]): Promise<number> =>
  runVerb(args, {
    help: HELP,
    options: { name: { type: 'string' }, role: { type: 'string' } },
    run: async ([verb, email], { name, role }, place) => {
      const db = openDatabase(place)
      try {
        const commands = accountCommands(db)
        if (verb === 'list') return commands.list()
        if (!email || !['add', 'enable', 'link', 'password'].includes(verb ?? '')) throw misuse(HELP.trimEnd())
        const address = email.toLowerCase()
        if (verb === 'enable') return commands.enable(address)
        if (verb === 'link') return commands.link(address, addressOf(place.config))
        if (verb === 'password') return await commands.password(address)
        return await commands.add(address, String(name ?? email), roleOf(role as string | undefined))
      } finally {
        db.close()
      }
    },
  })

function roleOf(given = 'owner'): Role {
  const role = ROLES.find((known) => known === given)
  if (!role) throw misuse(`Unknown role "${given}": expected ${ROLES.join(', ')}.`)
  return role
}

function accountCommands(db: Db) {
  const users = userStore(db)
  const auditLog = audit(db, randomIds, 0)
  const idOf = (email: string): string => {
    const id = users.idByEmail(email)
    if (id === undefined) throw misuse(`There is no account ${email}: see roomtone user list.`)
    return id
  }
  const writeAudit = (
    action: string,
    id: string,
    email: string,
    more: Pick<AuditEntry, 'after' | 'before'>,
    now: string,
  ) =>
    auditLog.write({ ...ACTOR, action: `${action}.succeeded`, ...more, target: { type: 'user', id, name: email } }, now)

  /** One change of an account, with its audit row, in one transaction. */
  const change = (action: string, email: string, change: (id: string, now: string) => CurrentUser): void => {
    const now = iso(systemClock.now())
    db.tx(() => {
      const id = idOf(email)
      const before = userSnapshot(users.get(id))
      writeAudit(action, id, email, { before, after: userSnapshot(change(id, now)) }, now)
    })
  }

  return {
    list(): number {
      const { users: all } = users.page({ limit: 10_000, offset: 0 })
      for (const { disabledAt, email, provider, roles } of all)
        say(`${email}\t${roles.join(',') || 'no role'}\t${provider}${disabledAt ? '\tdisabled' : ''}\n`)
      return 0
    },
    enable(email: string): number {
      change('auth.users.status.update', email, (id, now) => users.setDisabled(id, false, now))
      return say(`${email} may log in again.\n`)
    },
    link(email: string, base: string): number {
      const now = iso(systemClock.now())
      const token = db.tx(() => {
        const id = idOf(email)
        if (users.get(id).disabledAt) throw misuse(`${email} is disabled: roomtone user enable ${email}`)
        writeAudit('auth.sign_in_link.create', id, email, {}, now)
        return linkStore(db).make(id, now)
      })
      return say(`${linkAddress(base, token)}\n`)
    },
    async password(email: string): Promise<number> {
      idOf(email)
      const { hash, note } = await newPassword()
      change('auth.users.password.reset', email, (id, now) => users.setPassword(id, hash, now))
      return say(`The password of ${email} is set; its sessions have ended.\n${note}`)
    },
    async add(email: string, name: string, role: Role): Promise<number> {
      if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw misuse(`"${email}" is not an e-mail address.`)
      const { hash, note } = await newPassword()
      const now = iso(systemClock.now())
      db.tx(() => {
        const access = { groupIds: [], resourceGrants: [], roles: [role] }
        const made = users.create(randomIds.uuid(), { email, name, passwordHash: hash, ...access }, now)
        writeAudit('auth.users.create', made.id, email, { after: userSnapshot(made) }, now)
      })
      return say(`Account ${email} was created, as ${role}.\n${note}`)
    },
  }
}

const addressOf = ({ SVC_HOST: host, SVC_PORT, tls }: Config): string =>
  `${tls ? 'https' : 'http'}://${isLoopback(host) && !host.includes(':') ? host : 'localhost'}:${SVC_PORT}`

/** Read from a pipe, so that it is in no argument list and no history; otherwise generated. `note` prints it once. */
async function newPassword(): Promise<{ hash: string; note: string }> {
  const piped = process.stdin.isTTY ? '' : (await text(process.stdin)).replace(/\r?\n$/, '')
  const password = piped || randomBytes(GENERATED_BYTES).toString('base64url')
  if (password.length < 8 || password.length > 200) throw misuse('A password has 8 to 200 characters.')
  return { hash: await hashPassword(password), note: piped ? '' : `Its password, shown only once: ${password}\n` }
}

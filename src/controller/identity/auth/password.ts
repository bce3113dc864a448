import { hashPassword } from '../../../crypto/password.ts'
import { conflict, Fail } from '../../../kernel/fail.ts'
import { PasswordChange } from '../../../wire/access.ts'
import { type AnyRoute, flow } from '../../http/route.ts'
import { type LoginParts, throttle } from './login.ts'

/**
 * Everybody changes their own password, knowing the one they have: guessing it counts like a failed login. Who came by a
 * link sets one without, once.
 */
export function passwordRoute(parts: LoginParts): AnyRoute {
  const { sessions, users } = parts
  const { clear, verified } = throttle(parts)
  return flow({
    method: 'PATCH',
    path: '/auth/me/password',
    auth: 'user',
    permission: null,
    action: 'auth.me.password.update',
    target: () => ({ type: 'user' }),
    body: PasswordChange,
    status: 204,
    run: async ({ body: { currentPassword, newPassword }, principal, request }, commit) => {
      const attempt = { email: principal.email, network: request.network }
      const { passwordHash: stored } = sessions.account(principal.email) ?? {}
      if (users.get(principal.id).provider !== 'local' || !stored)
        throw conflict('password_not_local', 'Your password is kept by the identity provider: change it there')
      if (currentPassword === undefined && !sessions.isByLink(principal.sessionId))
        throw new Fail(403, 'wrong_password', 'The current password is missing')
      if (currentPassword !== undefined && !(await verified(attempt, currentPassword, stored)))
        throw new Fail(403, 'wrong_password', 'The current password is wrong')
      const hash = await hashPassword(newPassword)
      const done = await commit((now) => {
        const change = { hash, id: principal.id, keep: principal.sessionId, now, stored }
        const sessionsEnded = sessions.changePassword(change)
        if (sessionsEnded === undefined)
          throw conflict('password_changed_meanwhile', 'The password was changed meanwhile: sign in again')
        return {
          data: null,
          after: { sessionsEnded },
          target: { type: 'user', id: principal.id, name: principal.email },
        }
      })
      clear(attempt)
      return done
    },
  })
}

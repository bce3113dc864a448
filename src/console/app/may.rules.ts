import { CAPABILITY_OF, type Permission } from '../../wire/permissions.ts'

interface Rights {
  permissions: readonly Permission[]
  roomCapabilities?: readonly { capabilities: readonly string[]; roomId: string }[]
}

/** Whether a person holds the permission, by a role or in some room; in `roomId`, or in any. The server decides in the end. */
export function may({ permissions, roomCapabilities = [] }: Rights, permission: Permission, roomId?: string): boolean {
  if (permissions.includes(permission)) return true
  const capability = CAPABILITY_OF[permission]
  if (capability === undefined) return false
  return roomCapabilities.some(
    (held) => (roomId === undefined || held.roomId === roomId) && held.capabilities.includes(capability),
  )
}

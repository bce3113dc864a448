import { CAPABILITY_OF, type Permission } from '../../wire/permissions.ts'

interface Rights {
  permissions: readonly Permission[]
  rooms?: Record<string, readonly string[]>
}

/** Whether a person holds the permission, by a role or in some room; in `roomId`, or in any. The server decides in the end. */
export function may({ permissions, rooms = {} }: Rights, permission: Permission, roomId?: string): boolean {
  if (permissions.includes(permission)) return true
  const capability = CAPABILITY_OF[permission]
  if (capability === undefined) return false
  const held = roomId === undefined ? Object.values(rooms).flat() : (rooms[roomId] ?? [])
  return held.includes(capability)
}

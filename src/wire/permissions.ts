/** Every permission there is. */
export const PERMISSIONS = [
  'auth:manage',
  'audit:read',
  'node:read',
  'node:manage',
  'node:control',
  'listen:monitor',
  'recording:read',
  'recording:create',
  'recording:control',
  'recording:edit',
  'recording:delete',
  'recording:playback',
  'recording:download',
  'schedule:read',
  'schedule:manage',
  'settings:read',
  'settings:manage',
  'switcher:read',
  'switcher:manage',
  'switcher:map',
  'health:read',
  'health:acknowledge',
  'metrics:read',
] as const
export type Permission = (typeof PERMISSIONS)[number]

export const ROLES = ['owner', 'admin', 'operator', 'technician', 'viewer', 'auditor'] as const
export type Role = (typeof ROLES)[number]

const VIEWER = [
  'health:read',
  'metrics:read',
  'node:read',
  'recording:download',
  'recording:playback',
  'recording:read',
  'schedule:read',
  'settings:read',
  'switcher:read',
] as const satisfies Permission[]

const ROLE_PERMISSIONS: Record<Role, readonly Permission[]> = {
  owner: PERMISSIONS,
  admin: PERMISSIONS,
  operator: [
    ...VIEWER,
    'health:acknowledge',
    'listen:monitor',
    'node:control',
    'recording:control',
    'recording:create',
    'recording:edit',
    'schedule:manage',
    'switcher:map',
  ],
  technician: [
    'health:acknowledge',
    'health:read',
    'listen:monitor',
    'node:manage',
    'node:read',
    'recording:control',
    'recording:create',
    'recording:playback',
    'recording:read',
    'schedule:read',
    'settings:read',
  ],
  viewer: VIEWER,
  auditor: ['audit:read', 'health:read', 'metrics:read', 'recording:read'],
}

/** Roles that bypass resource scope; a deny policy still binds them. */
export const BYPASS_ROLES: readonly Role[] = ['owner', 'admin']

export const CAPABILITIES = ['view', 'listen', 'download', 'operate', 'book', 'edit', 'delete'] as const
export type Capability = (typeof CAPABILITIES)[number]

/** The room capability that stands in for a permission; permissions not named here are never room-granted. */
export const CAPABILITY_OF: Partial<Record<Permission, Capability>> = {
  'node:read': 'view',
  'recording:read': 'view',
  'recording:playback': 'view',
  'schedule:read': 'view',
  'health:read': 'view',
  'listen:monitor': 'listen',
  'recording:download': 'download',
  'recording:create': 'operate',
  'recording:control': 'operate',
  'schedule:manage': 'book',
  'recording:edit': 'edit',
  'recording:delete': 'delete',
}

/** Union of the permissions of `roles`, in the order of `PERMISSIONS`. Unknown names give nothing. */
export function permissionsOf(roles: readonly string[]): Permission[] {
  const held = new Set(roles.flatMap((role) => ROLE_PERMISSIONS[role as Role] ?? []))
  return PERMISSIONS.filter((permission) => held.has(permission))
}

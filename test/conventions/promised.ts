// The routes that clients and recorders rely on, with their permissions: written down once more, so that none goes by mistake.
import type { Permission } from '../../src/wire/permissions.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Auth = 'user' | 'node' | 'bootstrap' | 'runner' | 'none'

export interface Promised {
  auth: Auth
  method: Method
  path: string
  permission: Permission | null
}

/** `GET+POST /a` stands for both methods. */
function rows(permission: Permission | null, lines: string[], { auth = 'user' }: { auth?: Auth } = {}): Promised[] {
  return lines.flatMap((line) => {
    const [methods = '', path = ''] = line.split(' ')
    return methods.split('+').map((method) => ({
      auth,
      method: method as Method,
      path,
      permission,
    }))
  })
}

const collection = (path: string): string[] => [`GET ${path}`, `GET ${path}/:id`, `GET ${path}/:id/actions`]

const AUTH = [
  ...rows(null, ['POST /auth/login', 'POST /auth/logout', 'GET /auth/me'], { auth: 'none' }),
  ...rows(null, ['GET /auth/oidc/config', 'GET /auth/oidc/login', 'GET /auth/oidc/callback'], { auth: 'none' }),
  ...rows('auth:manage', ['GET /auth/oidc/discovery']),
]

const ACCESS = rows('auth:manage', [
  'GET+POST /auth/users',
  'GET+DELETE /auth/users/:id',
  'PATCH /auth/users/:id/access',
  'PATCH /auth/users/:id/password',
  'PATCH /auth/users/:id/status',
  'GET+POST /auth/groups',
  'GET+PATCH+DELETE /auth/groups/:id',
  'PUT /auth/groups/:id/members',
  'GET+PATCH /auth/access-policies',
])

const AUDIT = rows('audit:read', [
  'GET /audit-events',
  'GET+POST /audit-events/export',
  'GET /audit-events/facets',
  'GET /audit-events/:id',
])

const NODES = [
  ...rows('node:read', ['GET /nodes', 'GET /nodes/:id', 'GET /nodes/:id/meters']),
  ...rows('node:read', [
    'GET+POST /nodes/export',
    'GET /nodes/:id/actions',
    'GET /nodes/agent-release',
    'GET /nodes/:id/lifecycle-jobs',
  ]),
  ...rows('node:manage', [
    'POST /nodes/enroll',
    'PATCH /nodes/:id',
    'PATCH /nodes/:id/interfaces/:iid',
    'POST /nodes/:id/credentials/rotate',
    'GET /nodes/:id/ssh-credential',
    'POST /nodes/:id/ssh-credential/rotate',
    'POST /nodes/:id/bootstrap-token',
  ]),
  ...rows('node:manage', ['PUT /nodes/:id/channel-rooms', 'POST /nodes/:id/lifecycle/:action']),
  ...rows('listen:monitor', [
    'POST /nodes/:id/listen',
    'GET /nodes/:id/listen/stream',
    'DELETE /nodes/:id/listen/:sid',
  ]),
]

const MACHINES = [
  // No permission is asked for; the one that audit rows name.
  ...rows('node:manage', ['POST /nodes/:id/bootstrap'], { auth: 'bootstrap' }),
  ...rows(null, ['GET /nodes/:id/ssh-credential/material'], { auth: 'runner' }),
  ...rows(
    'node:control',
    [
      'GET /nodes/:id/config',
      'GET /nodes/:id/channel-map-assignments',
      'POST /nodes/:id/heartbeat',
      'POST /nodes/:id/inventory',
      'POST /nodes/:id/meter-frame',
      'POST /nodes/:id/listen/chunk',
    ],
    {
      auth: 'node',
    },
  ),
  ...rows('health:acknowledge', ['POST /nodes/:id/health-events'], { auth: 'node' }),
  ...rows(
    'recording:control',
    [
      'GET /nodes/:id/recording-jobs/next',
      'POST /nodes/:id/recording-jobs/claim-next',
      'POST /nodes/:id/recording-jobs/claim-next-group',
      'POST /recording-jobs/:jid/claim',
      'POST /recording-jobs/:jid/heartbeat',
      'GET /recording-jobs/:jid',
      'POST /recording-jobs/:jid/cancelled',
      'POST /recording-jobs/:jid/failed',
      'PUT /recordings/:rid/cache-file',
    ],
    { auth: 'node' },
  ),
]

const RECORDINGS = [
  ...rows('recording:read', [
    'GET /recordings',
    'GET /recordings/:id',
    'GET /recordings/facets',
    'GET /recordings/:id/context',
    'GET /recordings/:id/actions',
    'GET+POST /recordings/export',
  ]),
  ...rows('recording:create', ['POST /recordings']),
  ...rows('recording:control', ['POST /recordings/:id/stop']),
  ...rows('recording:playback', ['POST /recordings/:id/playback', 'GET /recordings/:id/stream']),
  ...rows('recording:download', ['POST /recordings/:id/download', 'GET /recordings/:id/file']),
  ...rows('recording:edit', ['PATCH /recordings/:id/metadata', 'PATCH /recordings/bulk-metadata']),
  ...rows('recording:delete', ['DELETE /recordings/:id', 'POST /recordings/bulk-delete']),
]

const JOBS = [
  ...rows('recording:read', ['GET /recording-jobs', 'GET /recording-jobs/:id']),
  ...rows('recording:read', ['GET /recording-jobs/:id/actions', 'GET+POST /recording-jobs/export']),
  ...rows('recording:control', ['POST /recording-jobs/:id/retry']),
  ...rows('recording:control', ['POST /recording-jobs/bulk-retry', 'POST /recording-jobs/bulk-stop']),
  ...rows('recording:read', [...collection('/upload-queue'), 'GET /upload-runner', 'GET /upload-runner/actions']),
  ...rows('recording:control', [
    'POST /recordings/:id/upload-queue',
    'POST /recordings/bulk-upload-queue',
    'POST /upload-queue/:id/retry',
    'POST /upload-runner/run',
  ]),
]

const SCHEDULES = [
  ...rows('schedule:read', [
    ...collection('/schedules'),
    'GET /schedules/:id/occurrences',
    'GET+POST /schedules/export',
    'GET /schedules/calendar',
  ]),
  ...rows('schedule:manage', [
    'POST /schedules',
    'PATCH+DELETE /schedules/:id',
    'POST /schedules/:id/run-now',
    'POST /schedules/:id/skip-next',
    'POST /schedules/:scheduleId/move-occurrence',
  ]),
]

const ROOMS = [
  ...rows('node:read', ['GET /rooms', 'GET /rooms/:roomId', 'GET /rooms/:roomId/overview']),
  ...rows('node:manage', ['POST /rooms', 'PATCH+DELETE /rooms/:roomId']),
  ...rows('auth:manage', ['GET+PUT /rooms/:roomId/roster']),
]

const FAMILIES = [
  '/settings/channel-map-templates',
  '/settings/channel-map-assignments',
  '/settings/channel-map-assignment-plans',
]

const SETTINGS = [
  ...rows('settings:read', collection('/settings/recording-profiles')),
  ...rows('settings:manage', ['POST /settings/recording-profiles', 'PATCH /settings/recording-profiles/:id']),
  ...rows('settings:read', collection('/settings/watchdog-policies')),
  ...rows('settings:manage', [
    'POST /settings/watchdog-policies',
    'PATCH /settings/watchdog-policies/:id',
    // The one the console calls (docs/contract/health.md:
    // Watchdog policies).
    'POST /settings/watchdog-policies/:id/calibrations',
  ]),
  ...rows('settings:read', [
    ...collection('/settings/upload-destinations'),
    ...collection('/settings/upload-policies'),
  ]),
  ...rows('settings:manage', [
    'POST /settings/upload-destinations',
    'PATCH /settings/upload-destinations/:id',
    'POST /settings/upload-policies',
    'PATCH /settings/upload-policies/:id',
  ]),
  ...rows('settings:read', [...FAMILIES.flatMap(collection), 'GET /settings/controller']),
  ...rows('settings:manage', [
    'POST /settings/channel-map-templates',
    'PATCH /settings/channel-map-templates/:id',
    'PUT /settings/channel-map-assignments',
    'PUT /settings/channel-map-assignments/bulk',
    'POST /settings/channel-map-assignments/rollback',
    'POST /settings/channel-map-assignment-plans',
    'POST /settings/channel-map-assignment-plans/:id/apply',
    'PATCH /settings/controller',
  ]),
  ...rows('settings:read', collection('/settings/retention-policies')),
  ...rows('settings:manage', ['POST /settings/retention-policies', 'PATCH /settings/retention-policies/:id']),
]

const SWITCHERS = [
  ...rows('switcher:read', [
    'GET /settings/switchers',
    'GET /settings/switchers/:id',
    'GET /settings/switcher-mapping-options',
    'GET /settings/switchers/:id/mappings',
  ]),
  ...rows('switcher:manage', [
    'POST /settings/switchers',
    'PATCH+DELETE /settings/switchers/:id',
    'POST /settings/switchers/:id/test',
    'GET /settings/switchers/:id/config-snapshot',
    'POST /settings/switchers/:id/restore',
  ]),
  ...rows('switcher:map', ['PUT /settings/switchers/:id/mappings']),
]

const HEALTH = [
  ...rows('health:read', [...collection('/health-events'), 'GET+POST /health-events/export']),
  ...rows('health:acknowledge', [
    'POST /health-events',
    'POST /health-events/bulk-lifecycle',
    'POST /health-events/:id/acknowledge',
    'POST /health-events/:id/suppress',
    'POST /health-events/:id/resolve',
    'POST /health-events/:id/reopen',
  ]),
]

const STATUS = [
  ...rows('node:read', ['GET /status']),
  ...rows('metrics:read', ['GET /metrics']),
  ...rows(null, ['GET /healthz', 'GET /readyz'], { auth: 'none' }),
]

export const PROMISED: readonly Promised[] = [
  ...AUTH,
  ...ACCESS,
  ...AUDIT,
  ...NODES,
  ...MACHINES,
  ...RECORDINGS,
  ...JOBS,
  ...SCHEDULES,
  ...ROOMS,
  ...SETTINGS,
  ...SWITCHERS,
  ...HEALTH,
  ...STATUS,
]

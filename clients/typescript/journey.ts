// What a client that is generated from openapi.json looks like, and can do: it signs in, makes a room, a recorder and a
// schedule, looks for takes, and reads errors by their types.
// usage: npm ci && npm run generate && node journey.ts URL EMAIL PASSWORD    (Node 24 or newer)
import createClient, { type Middleware } from 'openapi-fetch'
import type { components, paths } from './schema.d.ts'

type Schedule = components['schemas']['Schedule']

const [url = '', email = '', password = ''] = process.argv.slice(2)
const api = createClient<paths>({ baseUrl: url })

/** What was answered. @throws Error in the words of the controller */
function given<T>({ data, error }: { data?: T; error?: { error: string } | undefined }): T {
  if (error || data === undefined) throw new Error(error?.error ?? 'There is no answer.')
  return data
}

const signedIn = given(await api.POST('/api/v1/auth/login', { body: { email, password } })).data
const bearer: Middleware = {
  onRequest: ({ request }) => void request.headers.set('authorization', `Bearer ${signedIn.token}`),
}
api.use(bearer)

const room = given(await api.POST('/api/v1/rooms', { body: { id: 'aula', name: 'Aula', site: 'North' } })).data

const enrolled = given(
  await api.POST('/api/v1/nodes/enroll', {
    body: { alias: 'Aula recorder', hostname: 'aula-1', location: { room: room.name, site: room.site } },
  }),
).data
const nodeId = enrolled.node.id
const node = given(
  await api.PATCH('/api/v1/nodes/{id}', { params: { path: { id: nodeId } }, body: { roomId: room.id } }),
).data

const schedule: Schedule = given(
  await api.POST('/api/v1/schedules', {
    body: {
      folderTemplate: 'Lectures',
      name: 'Lecture',
      nodeId,
      recurrence: { daysOfWeek: ['monday'], endTime: '11:00', mode: 'weekly', startTime: '09:15' },
      room: room.name,
      timezone: 'Europe/Berlin',
      titleTemplate: '{{schedule.name}} {{date}}',
    },
  }),
).data

const begun = given(
  await api.POST('/api/v1/recordings', { body: { durationSeconds: 60, name: 'Sound check', nodeId } }),
)
const found = given(
  await api.GET('/api/v1/recordings', {
    params: { query: { cacheState: 'missing', limit: 10, nodeId, sortBy: 'recordedAt', sortOrder: 'desc' } },
  }),
)

// An error is one of a few shapes: their members tell them apart.
const again = await api.POST('/api/v1/rooms', { body: { id: 'aula', name: 'Aula', site: 'North' } })
const conflict = again.error && 'reason' in again.error ? again.error.reason : undefined
// @ts-expect-error a name that is a number does not compile, and is refused
const malformed = await api.POST('/api/v1/rooms', { body: { name: 7, site: 'North' } })
const issue = malformed.error && 'issues' in malformed.error ? malformed.error.issues?.[0]?.path : undefined
const missing = await api.GET('/api/v1/rooms/{roomId}', { params: { path: { roomId: 'nowhere' } } })

console.log(
  JSON.stringify({
    conflict: [again.response.status, conflict],
    malformed: [malformed.response.status, issue],
    missing: [missing.response.status, missing.error?.error],
    node: [node.alias, node.roomId],
    role: signedIn.user.roles,
    schedule: [schedule.name, typeof schedule.nextRunAt],
    takes: [found.meta.total, found.data[0]?.id === begun.data.id, begun.job.status],
  }),
)

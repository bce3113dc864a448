// Every action name that other systems rely on, without the endings of outcomes: typed once, held against the routes.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import * as path from 'node:path'
import { after, test } from 'node:test'
import { kit } from '../kit/kit.ts'

const k = kit()
after(() => k.close())

const CATALOGUE: Record<string, string> = {
  audit: `
    events.actions.read events.detail.read events.export events.export_selected events.facets.read events.read
  `,
  auth: `
    access_policies.actions.read access_policies.read access_policies.update actions.read groups.create
    groups.delete groups.detail.read groups.members.update groups.read groups.update login logout me.read
    oidc.actions.read oidc.callback oidc.config.read oidc.discovery.actions.read oidc.discovery.read
    oidc.login oidc.login.started users.access.update users.actions.read users.create users.delete
    users.detail.read users.password.reset users.read users.status.update
  `,
  health: `
    events.acknowledge events.actions.read events.bulk_lifecycle events.create events.detail.read
    events.export events.export_selected events.read events.reopen events.resolve events.suppress
    watchdog.channel_correlation.created watchdog.channel_correlation.repeated
    watchdog.channel_correlation.resolved watchdog.clipping.created watchdog.clipping.repeated
    watchdog.clipping.resolved watchdog.flatline.created watchdog.flatline.repeated watchdog.flatline.resolved
    watchdog.low_signal.created watchdog.low_signal.repeated watchdog.low_signal.resolved
    watchdog.node_offline.created watchdog.node_offline.resolved watchdog.quality_anomaly.created
    watchdog.quality_anomaly.repeated watchdog.quality_anomaly.resolved
  `,
  listen: `monitor.start monitor.stop monitor.stream`,
  meters: `read stream`,
  metrics: `read`,
  nodes: `
    actions.read agent_release.read bootstrap bootstrap.completed bootstrap_token.issue channel-rooms.assign
    channel_map_assignments.read config.read credentials.rotate detail.read enroll export export_selected
    health_events.sync heartbeat interfaces.update inventory.reconciled lifecycle.run lifecycle_jobs.read
    listen_monitor.chunk.ingest meter_frame.ingest read ssh_credential.fetch ssh_credential.read
    ssh_credential.rotate update
  `,
  recording_jobs: `
     failed actions.read bulk_retry bulk_stop cancelled chunks.read claim claim_next claim_next_group detail.read
    export export_selected heartbeat next read read_one retry
  `,
  recordings: `
    actions.read bulk_delete cache_file.attach context.read delete detail.read download download.file
    download.prepare download.prepared export export_selected facets.read metadata.bulk_update metadata.update
    playback playback.start playback.started playback.stream read retention.cache_deleted
    retention.cache_failed retention.runner.completed start stop upload_queue.actions.read
    upload_queue.auto_enqueue upload_queue.bulk_enqueue upload_queue.detail.read upload_queue.enqueue
    upload_queue.read upload_queue.reconciled upload_queue.reconciled.partial upload_queue.retry
    upload_queue.runner.completed upload_queue.runner_item upload_queue.runner_item.deferred
    upload_runner.actions.read upload_runner.read upload_runner.run
  `,
  rooms: `create delete detail.read overview.read read roster.read roster.update update`,
  schedules: `
    actions.read calendar.read create delete detail.read due_run due_run.deferred due_run.skipped export
    export_selected occurrence.move occurrences.read read run_now skip_next update
  `,
  settings: `
    channel_map_assignment_plans.actions.read channel_map_assignment_plans.apply
    channel_map_assignment_plans.create channel_map_assignment_plans.detail.read
    channel_map_assignment_plans.read channel_map_assignments.bulk_update channel_map_assignments.read
    channel_map_assignments.rollback channel_map_assignments.update channel_map_templates.actions.read
    channel_map_templates.create channel_map_templates.detail.read channel_map_templates.read
    channel_map_templates.update controller.read controller.update recording_profiles.actions.read
    recording_profiles.create recording_profiles.detail.read recording_profiles.read recording_profiles.update
    retention_policies.actions.read retention_policies.create retention_policies.detail.read
    retention_policies.read retention_policies.update switchers.create switchers.delete
    switchers.mapping_options.read switchers.mappings.read switchers.mappings.update switchers.read
    switchers.restore switchers.snapshot switchers.test switchers.update upload_destinations.actions.read
    upload_destinations.create upload_destinations.delete upload_destinations.detail.read
    upload_destinations.read upload_destinations.update upload_policies.actions.read upload_policies.create
    upload_policies.detail.read upload_policies.read upload_policies.update watchdog_policies.actions.read
    watchdog_policies.calibrate watchdog_policies.create watchdog_policies.detail.read watchdog_policies.read
    watchdog_policies.update
  `,
  status: `read`,
  switchers: `reconcile reconcile.observed`,
}

const named = new Set(
  Object.entries(CATALOGUE).flatMap(([family, names]) =>
    names
      .trim()
      .split(/\s+/)
      .map((name) => `${family}.${name}`),
  ),
)

// Actions of routes that the catalogue does not know, with the reason they have a name of their own.
const OWN_ACTIONS: Record<string, string> = {
  'settings.controller.actions.read': 'action states, as every resource has them',
  'auth.display_links.create': 'a screen on a wall shows levels, with nobody signed in',
  'auth.display_links.read': 'a screen on a wall shows levels, with nobody signed in',
  'auth.display_links.revoke': 'a screen on a wall shows levels, with nobody signed in',
  'auth.display_session.open': 'a screen on a wall shows levels, with nobody signed in',
  'displays.meters.stream': 'a screen on a wall shows levels, with nobody signed in',
  'displays.read': 'a screen on a wall shows levels, with nobody signed in',
  'recordings.undelivered.read': 'how much sound exists on recorders only',
  'recording_jobs.offer': 'a take whose recording got lost with the controller that ordered it',
  'auth.me.password.update': 'everybody changes their own password',
  'auth.sessions.read': 'sessions can be seen and ended',
  'auth.sessions.revoke': 'sessions can be seen and ended',
  'auth.sessions.revoke_others': 'sessions can be seen and ended',
  'auth.sign_in_link': 'the first sign-in, on the machine of the controller',
  'auth.users.rooms.read': 'what somebody may do, room by room',
  'auth.users.sessions.read': 'sessions can be seen and ended',
  'auth.users.sessions.revoke': 'sessions can be seen and ended',
  'events.read': 'what has changed, so that the console need not poll',
  'metrics.scrape': 'a scrape by the static token, apart from a session reading the metrics',
  'nodes.agent_release.download': 'a site without internet updates its nodes from its controller',
  'nodes.agent_release.install': 'and installs them from it',
  'nodes.bootstrap_config.issue': 'enroll and mint for a setup stick in one go',
  'nodes.bootstrap_token.check': 'a box asks whether its token is still good before it changes anything',
  'nodes.credentials.revoke': 'revoking a node disables both of its credentials',
  'nodes.doctor.read': 'what is wrong with a recorder, asked from the console',
  'nodes.doctor.report': 'and what the recorder answers',
  'nodes.meter_frames.ingest': 'levels of some seconds in one request, while nobody watches them',
  'nodes.sound_readings.report': 'what a recorder hears before and during its takes',
  'schedules.preflight.read': 'what was heard before the last take of a schedule',
  'nodes.pairing': 'a box trades a short code for a bootstrap token',
  'nodes.pairing_code.issue': 'a short code where a person types at a box',
  'nodes.reinstate': 'and may come back with a new bootstrap',
  'nodes.retire': 'a box that is gone leaves the lists, its recordings stay',
  'nodes.ssh_credential.host_keys.replace': 'host keys of a node that was set up by hand, for the lifecycle runner',
  'settings.notification_channels.read': 'who is told, and how',
  'settings.notification_channels.create': 'who is told, and how',
  'settings.notification_channels.detail.read': 'who is told, and how',
  'settings.notification_channels.update': 'who is told, and how',
  'settings.notification_channels.delete': 'who is told, and how',
  'settings.notification_channels.test': 'who is told, and how',
  'settings.notification_rules.read': 'who is told of what',
  'settings.notification_rules.create': 'who is told of what',
  'settings.notification_rules.preview': 'who is told of what',
  'settings.notification_rules.detail.read': 'who is told of what',
  'settings.notification_rules.update': 'who is told of what',
  'settings.notification_rules.delete': 'who is told of what',
  'auth.me.notifications.read': "people's own mail",
  'auth.me.notifications.update': "people's own mail",
  'notifications.read': 'what was sent, and what was not',
  'notifications.retry': 'once more',
  'notifications.acknowledge': 'the button of a message',
  'docs.read': 'the document of all records, for people',
  'docs.style': 'how that page looks',
  'openapi.read': 'the document of all records',
  'recordings.cache_file.offset': 'offset of an interrupted upload',
  'recordings.waveform.read': 'waveform peaks, made once and stored',
  'schedules.occurrence.undo_move': 'the date back and the copy gone in one step',
  'settings.channel_map_assignments.actions.read': 'list, detail and actions for every settings family',
  'settings.channel_map_assignments.detail.read': 'list, detail and actions for every settings family',
  'settings.foresight.read': 'what is foreseen of takes that are due, and how long ahead',
  'settings.foresight.update': 'what is foreseen of takes that are due, and how long ahead',
  'settings.switchers.detail.read': 'list, detail and actions for every settings family',
}

test('what routes write into the audit is named by the contract, or has a reason', () => {
  const unknown = k.routes
    .filter((r) => r.audit !== 'none')
    .map((r) => r.action)
    .filter((action) => !named.has(action) && !OWN_ACTIONS[action])
  assert.deepEqual(unknown, [], 'an action of its own: add it with its reason to OWN_ACTIONS of this file')
})

test('a reason that excuses no route any more is taken off the list', () => {
  const written = new Set(k.routes.map((r) => r.action))
  assert.deepEqual(
    Object.keys(OWN_ACTIONS).filter((action) => !written.has(action) || named.has(action)),
    [],
  )
})

// No route asks for them.
const UNWRITTEN = ['auth.oidc.actions.read', 'auth.oidc.discovery.actions.read']

test('docs/audit.md has every name other systems rely on', () => {
  const page = readFileSync(path.resolve(import.meta.dirname, '../../docs/audit.md'), 'utf8')
  const missing = [...named].filter((name) => !page.includes(`\`${name}\``) && !page.includes(`\`${name}.`))
  assert.deepEqual(missing, UNWRITTEN)
})

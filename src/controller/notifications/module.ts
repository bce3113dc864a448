import { iso } from '../../kernel/clock.ts'
import { version } from '../../kernel/version.ts'
import { zoneBook } from '../../kernel/zones.ts'
import type { Base, Module } from '../module.ts'
import type { HealthApi } from '../monitoring/health/api.ts'
import type { SealKeys } from '../secrets.ts'
import type { SettingsApi } from '../settings/api.ts'
import { acknowledgeRoutes } from './acknowledge.routes.ts'
import { acknowledgeLinks } from './acknowledge.store.ts'
import { attemptStore } from './attempts.store.ts'
import { channelRoutes } from './channels.routes.ts'
import { channelStore } from './channels.store.ts'
import type { Sender } from './compose.rules.ts'
import { deliveryRoutes } from './deliveries.routes.ts'
import { Deliveries, NOTIFICATION_RUNNER } from './delivery.runner.ts'
import { heartbeatRunner } from './heartbeat.runner.ts'
import { peopleRoutes } from './people.routes.ts'
import { peopleStore } from './people.store.ts'
import { PHRASES } from './phrases.ts'
import { previewStore } from './preview.store.ts'
import { queueStore } from './queue.store.ts'
import { reportStore } from './report.store.ts'
import { reporter } from './reporter.ts'
import { ruleRoutes } from './rules.routes.ts'
import { ruleStore } from './rules.store.ts'
import { type Sending, sending, tester } from './sender.ts'
import { type Settlement, settlement } from './settlement.ts'
import { subjectStore } from './subjects.store.ts'
import { type Telling, telling } from './telling.ts'
import { transportBase } from './transports/transport.ts'

interface Deps {
  health: HealthApi
  keys: SealKeys
  settings: SettingsApi
}

/** Who is told of what: channels, rules, the queue of messages, and what of it people want by their own mail. */
export function createNotifications(base: Base, deps: Deps): Module {
  const { authorization, clock, config, db, events, ids, log, ticker } = base
  const { principals, scope, visibility } = authorization
  const { health } = deps.health
  const stores = storesOf(base, deps)
  const { attempts, channels, links, people, queue, rules } = stores
  const transports = transportBase(config, clock)
  const sender = senderOf(base, deps)
  const sends = sending({ base: transports, channels, links, sender })
  const tells = telling({
    ...stores,
    ...{ forPeople: channels.forPeople, health, ids, principals, scope, subjectOf: subjectStore(db) },
  })
  const settles = settlement({ attempts, audit: base.audit, clock, db, health })
  const deliveries = deliveriesOf(base, { sending: sends, settlement: settles, stores, telling: tells })
  const now = (): string => iso(clock.now())
  if (config.SVC_NOTIFICATIONS_ENABLED) {
    events.on('health.opened', 'within', ({ id }) => tells.opened(id, now()))
    events.on('health.changed', 'within', (change) => tells.changed(change, now()))
    for (const type of ['health.opened', 'health.changed'] as const) events.on(type, 'after', () => deliveries.wake())
  }
  const reschedule = (): void => events.afterCommit(() => deliveries.wake())
  const [intervalSeconds, url] = [config.SVC_HEARTBEAT_INTERVAL_SECONDS, config.SVC_HEARTBEAT_URL]
  return {
    api: undefined,
    routes: [
      ...channelRoutes({
        attempts,
        channels,
        ids,
        queue,
        settlement: settles,
        test: tester({ clock, ids, sending: sends }),
        visibility,
      }),
      ...ruleRoutes({ ids, preview: previewStore(db), reschedule, rules, visibility }),
      ...peopleRoutes({ forPeople: channels.forPeople, people }),
      ...deliveryRoutes({ queue, reschedule, scope, visibility }),
      ...acknowledgeRoutes({ clock, health, links, principals, scope, sender }),
    ],
    listening: (port) => {
      transports.own.port = port
    },
    runners: [deliveries.runner(), heartbeatRunner({ db, intervalSeconds, log, passes: () => ticker.status(), url })],
    start() {
      deliveries.start()
      // A tenth of a second of the event loop: before the first request rather than with the first message.
      if (channels.isAny()) void transports.tls
    },
    stop: () => deliveries.stop(),
  }
}

const storesOf = ({ db }: Base, { keys }: Deps) => ({
  attempts: attemptStore(db),
  channels: channelStore(db, keys.settings),
  links: acknowledgeLinks(db, keys.node),
  people: peopleStore(db),
  queue: queueStore(db),
  rules: ruleStore(db),
  zones: zoneBook(),
})
type Stores = ReturnType<typeof storesOf>

/** What messages say of this controller, as it is configured now. */
function senderOf({ config }: Base, { settings }: Deps): () => Sender {
  const address = config.SVC_PUBLIC_URL?.replace(/\/+$/, '')
  const phrases = PHRASES[config.SVC_NOTIFICATION_LANGUAGE]
  return () => {
    const { name, timezone, unnamed } = settings.site()
    return { address, phrases, site: unnamed ? undefined : name, timezone }
  }
}

interface Working {
  sending: Sending
  settlement: Settlement
  stores: Stores
  telling: Telling
}

function deliveriesOf(base: Base, { sending, settlement, stores, telling }: Working): Deliveries {
  const { authorization, clock, config, db, ids, log, ticker } = base
  const { attempts, people, queue, rules, zones } = stores
  const { principals, scope } = authorization
  const [report, takes] = [reportStore(db, version), config.SVC_RECORDING_CACHE_DIR]
  return new Deliveries({
    addressOf(userId, eventId) {
      const person = principals.person(userId)
      const target = { type: 'health_event', id: eventId }
      const isWanted = people.get(userId).enabled
      return person && isWanted && scope.decide(person, 'health:read', target).allowed ? person.email : undefined
    },
    attempts,
    clock,
    db,
    enabled: config.SVC_NOTIFICATIONS_ENABLED,
    ids,
    log,
    reporter: reporter({ db, ids, queue, report, rules, takes, zones }),
    reschedule: () => ticker.reschedule(NOTIFICATION_RUNNER),
    sending,
    settlement,
    telling,
  })
}

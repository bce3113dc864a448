import type { Certificates } from '../http/certificates.ts'
import { usedIds } from '../http/usedids.store.ts'
import type { Base, Module } from '../module.ts'
import { topics } from '../scheduler/notifier.ts'
import type { SealKeys } from '../secrets.ts'
import type { FleetApi } from './api.ts'
import { assignmentRoutes } from './channels/assignments.routes.ts'
import { assignmentStore } from './channels/assignments.store.ts'
import { planRoutes } from './channels/plans.routes.ts'
import { planStore } from './channels/plans.store.ts'
import { templateRoutes } from './channels/templates.routes.ts'
import { templateStore } from './channels/templates.store.ts'
import { doctorCalls } from './doctor/calls.ts'
import { doctorRoutes } from './doctor/doctor.routes.ts'
import { doctorReports } from './doctor/reports.store.ts'
import { channelRoomRoutes } from './nodes/channelrooms.routes.ts'
import { channelRoomStore } from './nodes/channelrooms.store.ts'
import { nodeExportRoutes } from './nodes/export.routes.ts'
import { reconciliation } from './nodes/interfaces.store.ts'
import { nodeRoutes } from './nodes/nodes.routes.ts'
import { nodeStore } from './nodes/nodes.store.ts'
import { offlineRunner } from './nodes/offline.runner.ts'
import { bootstrapConfigRoutes } from './onboarding/bootstrapconfig.routes.ts'
import { credentialStore } from './onboarding/credentials.store.ts'
import { hostKeyStore } from './onboarding/hostkeys.store.ts'
import { installRoutes, ownAddress } from './onboarding/install.routes.ts'
import { onboardingRoutes } from './onboarding/onboarding.routes.ts'
import { pairingRoutes } from './onboarding/pairing.routes.ts'
import { pairingStore } from './onboarding/pairing.store.ts'
import { retireRoutes } from './onboarding/retire.routes.ts'
import { retireStore } from './onboarding/retire.store.ts'
import { sshKeyStore } from './onboarding/sshkeys.store.ts'
import { detachStore } from './rooms/detach.store.ts'
import { placing } from './rooms/placing.ts'
import { roomRoutes, rosterRoutes } from './rooms/rooms.routes.ts'
import { roomStore } from './rooms/rooms.store.ts'
import { rosterStore } from './rooms/roster.store.ts'

interface Deps {
  certificates: Certificates | undefined
  keys: SealKeys
}

/** Nodes, rooms, onboarding and channel maps. */
export function createFleet(base: Base, { certificates, keys }: Deps): Module<FleetApi> {
  const { authorization, config, db, events, ids, notifier } = base
  const { principals, visibility, scope } = authorization
  const [publicUrl, tls] = [config.SVC_PUBLIC_URL, config.tls !== undefined]
  // How a new box recognises this controller over TLS; behind a proxy it would see the proxy's certificate.
  const introduction = (address: string | undefined) =>
    address?.startsWith('https:') && config.trustedProxies.length === 0
      ? certificates?.siteAuthority(address)
      : undefined
  const nodes = nodeStore(db, ids, config.SVC_NODE_OFFLINE_AFTER_SECONDS)
  const rooms = roomStore(db)
  const rosters = rosterStore(db)
  const templates = templateStore(db)
  const assignments = assignmentStore(db, ids, templates)
  const detach = detachStore(db)
  const reconcile: FleetApi['reconcile'] = (nodeId, reported) => reconciliation(nodes.interfaces, nodeId, reported)
  const places = placing({ rooms, scope, visibility })
  const doctor = doctorOf(base)
  const address = (host: string | undefined) => ownAddress(publicUrl, host, tls)
  const onboarding = {
    credentials: credentialStore(db, ids),
    hostKeys: hostKeyStore(db),
    nodes,
    pairing: pairingStore(db, keys.node),
    sshKeys: sshKeyStore(db, ids, keys.node),
  }
  return {
    api: { assignments, detach, doctor, nodes, onboarding, reconcile, rooms, rosters },
    routes: [
      ...nodeRoutes({ ...onboarding, events, places, scope, visibility }),
      ...nodeExportRoutes(nodes, visibility),
      ...retireRoutes({ ...onboarding, events, retiring: retireStore(db) }),
      ...doctorRoutes({ ...doctor, nodes, notifier }),
      ...channelRoomRoutes({ channelRooms: channelRoomStore(db), events, nodes, places }),
      ...bootstrapConfigRoutes({ credentials: onboarding.credentials, ids, nodes, places, visibility }),
      ...installRoutes({ introduction, publicUrl, tls }),
      ...onboardingRoutes({
        ...onboarding,
        address,
        ids,
        introduction,
        places,
      }),
      ...pairingRoutes({ ...onboarding, address, introduction, vouches: principals.vouches }),
      ...roomRoutes({ ids, detach, places, visibility, rooms, usedIds: usedIds(db, 'room') }),
      ...rosterRoutes(rooms, rosters),
      ...templateRoutes(templates, ids, visibility),
      ...assignmentRoutes({ assignments, nodes, visibility, scope }),
      ...planRoutes({ assignments, ids, plans: planStore(db), visibility, scope, templates }),
    ],
    start: detach.recover,
    runners: [offlineRunner({ enabled: config.SVC_NODE_OFFLINE_AFTER_SECONDS > 0, events, nodes })],
  }
}

/** Calls of recorders, which end with the report that comes in. */
function doctorOf({ clock, db, events, ids, notifier }: Base): FleetApi['doctor'] {
  const calls = doctorCalls(clock, ids, (nodeId) => events.emit('config.changed', { nodeId }))
  const reports = doctorReports(db)
  events.on('doctor.reported', 'after', ({ nodeId, requestId }) => {
    const report = reports.get(nodeId)
    if (report && calls.answered(requestId, report)) notifier.notify(topics.doctor(nodeId))
  })
  return { calls, reports }
}

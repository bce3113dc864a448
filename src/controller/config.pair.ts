// The settings of two boxes that share a lease, or the message about a contradiction.
import { type BucketPlace, type PairSettings, placeOf } from './succession/place.rules.ts'

interface PairValues {
  SVC_LEASE_ACCESS_KEY_ID?: string | undefined
  SVC_LEASE_SECRET_ACCESS_KEY?: string | undefined
  SVC_LEASE_TTL_SECONDS: number
  SVC_LEASE_URL?: string | undefined
  SVC_LITESTREAM_COMMAND: string
  SVC_PUBLIC_URL?: string | undefined
  SVC_REPLICA_URL?: string | undefined
  SVC_STANDBY_TAKEOVER: 'automatic' | 'manual'
}

interface PairReading {
  fault?: string
  pair?: PairSettings
}

/** Neither `pair` nor `fault`: this box is alone. */
export function pairOf(values: PairValues): PairReading {
  const { SVC_LEASE_URL: lease, SVC_PUBLIC_URL: url, SVC_REPLICA_URL: replica } = values
  const { SVC_LEASE_ACCESS_KEY_ID: accessKeyId, SVC_LEASE_SECRET_ACCESS_KEY: secretAccessKey } = values
  if (lease === undefined) return alone(values)
  if (!accessKeyId || !secretAccessKey)
    return { fault: 'SVC_LEASE_URL needs SVC_LEASE_ACCESS_KEY_ID and SVC_LEASE_SECRET_ACCESS_KEY.' }
  if (url === undefined)
    return { fault: 'SVC_LEASE_URL needs SVC_PUBLIC_URL: the other box tells people and recorders where this one is.' }
  if (replica === undefined)
    return {
      fault:
        'SVC_LEASE_URL needs SVC_REPLICA_URL, a folder such as s3://BUCKET/pair/database: without a replica of the database the ' +
        'other box has nothing to take over with.',
    }
  const places = [lease, replica].map((text) => placeOf(text))
  for (const [name, place] of [
    ['SVC_LEASE_URL', places[0]],
    ['SVC_REPLICA_URL', places[1]],
  ] as const)
    if (!place)
      return { fault: `${name} is not usable: expected s3://BUCKET/KEY, with ?region= and &endpoint= where needed.` }
  return {
    pair: {
      accessKeyId,
      automatic: values.SVC_STANDBY_TAKEOVER === 'automatic',
      lease: places[0] as BucketPlace,
      litestream: values.SVC_LITESTREAM_COMMAND,
      replica: places[1] as BucketPlace,
      secretAccessKey,
      ttlMs: values.SVC_LEASE_TTL_SECONDS * 1000,
      url: url.replace(/\/+$/, ''),
    },
  }
}

function alone({ SVC_REPLICA_URL: replica, SVC_STANDBY_TAKEOVER: takeover }: PairValues): PairReading {
  if (replica !== undefined)
    return {
      fault:
        'SVC_REPLICA_URL needs SVC_LEASE_URL, an object such as s3://BUCKET/pair/lease.json: without a lease two boxes could ' +
        'write the same replica. For one box with a replicator of its own set SVC_DATABASE_REPLICATED instead.',
    }
  return takeover === 'automatic' ? { fault: 'SVC_STANDBY_TAKEOVER=automatic needs SVC_LEASE_URL.' } : {}
}

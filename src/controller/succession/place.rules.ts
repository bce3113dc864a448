// Addresses of buckets, as settings name them.

/** An object or a folder of a bucket. */
export interface BucketPlace {
  bucket: string
  endpoint: string | undefined
  /** Without a slash at either end. */
  key: string
  region: string
}

/** What two boxes share. */
export interface PairSettings {
  accessKeyId: string
  automatic: boolean
  lease: BucketPlace
  litestream: string
  /** The folder where the controller has its database replicated. */
  replica: BucketPlace
  secretAccessKey: string
  ttlMs: number
  /** This box. */
  url: string
}

const KNOWN = ['endpoint', 'region']

/**
 * `s3://BUCKET/KEY?region=REGION&endpoint=URL`, with `whole` also without a key; undefined when it is not one, or says what is
 * not known here.
 */
export function placeOf(text: string, { whole = false } = {}): BucketPlace | undefined {
  const url = URL.parse(text)
  if (url?.protocol !== 's3:' || url.hostname === '' || url.port !== '' || url.username !== '' || url.hash !== '')
    return undefined
  const key = decoded(url.pathname.replace(/^\/+|\/+$/g, ''))
  const endpoint = url.searchParams.get('endpoint') ?? undefined
  const strange = [...url.searchParams.keys()].some((name) => !KNOWN.includes(name))
  if (
    key === undefined ||
    (key === '' && !whole) ||
    strange ||
    (endpoint !== undefined && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ''))
  )
    return undefined
  const region = url.searchParams.get('region') ?? 'us-east-1'
  return { bucket: url.hostname, endpoint, key, region }
}

/** Undefined where a percent sign is not followed by two digits, or by none of UTF-8. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** A bucket, and whose keys sign there, as clients of S3 take them. A service of its own has its buckets in the path. */
export const accountOf = (
  { accessKeyId, secretAccessKey }: Pick<PairSettings, 'accessKeyId' | 'secretAccessKey'>,
  { bucket, endpoint, region }: BucketPlace,
) => ({
  accessKeyId,
  bucket,
  region,
  secretAccessKey,
  ...(endpoint ? { endpoint, forcePathStyle: true } : {}),
})

/** The folder of a term's replica: a box that lost the lease never writes into the replica of the next holder. */
export const replicaOfTerm = (place: BucketPlace, term: number): BucketPlace => ({
  ...place,
  key: `${place.key}/term-${String(term).padStart(6, '0')}`,
})

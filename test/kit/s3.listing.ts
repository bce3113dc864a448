// Listings and removals as clients of the first hour ask for them (ListObjects, DeleteObjects), Litestream 0.3 among them.

interface Sized {
  etag: string
  modifiedAt?: string
  size: number
}

const xmlText = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** The answer to ListObjects, in one page: `objects` by bucket and key. */
export function listedV1(objects: ReadonlyMap<string, Sized>, bucket: string, query: URLSearchParams): string {
  const [delimiter, prefix] = [query.get('delimiter') ?? '', query.get('prefix') ?? '']
  const keys = [...objects.keys()].filter((key) => key.startsWith(`${bucket}/${prefix}`)).sort()
  const folders = new Set<string>()
  const contents = keys.flatMap((full) => {
    const key = full.slice(bucket.length + 1)
    const end = delimiter ? key.indexOf(delimiter, prefix.length) : -1
    if (end >= 0) folders.add(key.slice(0, end + delimiter.length))
    const { etag, modifiedAt = '2026-01-01T00:00:00.000Z', size } = objects.get(full) as Sized
    const told = { ETag: etag, Key: xmlText(key), LastModified: modifiedAt, Size: size }
    return end >= 0 ? [] : [`<Contents>${tags(told)}</Contents>`]
  })
  const common = [...folders].map((folder) => `<CommonPrefixes><Prefix>${xmlText(folder)}</Prefix></CommonPrefixes>`)
  const about = tags({
    Delimiter: delimiter,
    IsTruncated: 'false',
    MaxKeys: 1000,
    Name: bucket,
    Prefix: xmlText(prefix),
  })
  return `<ListBucketResult>${about}${contents.join('')}${common.join('')}</ListBucketResult>`
}

const tags = (told: Record<string, string | number>): string =>
  Object.entries(told)
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join('')

/** The keys a DeleteObjects names. */
export const namedIn = (body: string): string[] =>
  [...body.matchAll(/<Key>(.*?)<\/Key>/gs)].map(([, key = '']) => key.replaceAll('&lt;', '<').replaceAll('&amp;', '&'))

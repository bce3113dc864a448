import { type ChunkFile, MAX_MANIFEST_BYTES, type RenditionFile, TakeManifest } from '../../../wire/manifests.ts'
import { ownEntry } from '../../recordings/manifests/manifests.rules.ts'

/** A manifest with those of its files that are there, as they are there; or why it cannot be used. */
export type Finding =
  | {
      entries: (ChunkFile | RenditionFile)[]
      isChanged?: boolean
      etag?: string | null
      manifest: TakeManifest
      place: string
      /** Its file, where nothing else will find it if the manifest is refused. */
      unlisted?: Unlisted
    }
  | { damaged: string; place: string }

/** A file that no manifest tells of. */
export interface Unlisted {
  /** As the store names the object. */
  etag?: string | null
  modifiedAt: number
  /** Where it lies: below the takes directory, or in the bucket. */
  place: string
  sizeBytes: number
}

/**
 * A manifest's text, believed in nothing but its form. @throws Error with what is wrong with it
 */
export function parsedManifest(text: string): { manifest: TakeManifest; own: ChunkFile | RenditionFile } {
  if (text.length > MAX_MANIFEST_BYTES) throw new Error('it is too large')
  const manifest = TakeManifest.parse(JSON.parse(text))
  const own = ownEntry(manifest)
  if (!own) throw new Error('it does not name the file it lies beside')
  return { manifest, own }
}

/** What is wrong with a manifest, in a few words. */
export function damageOf(e: unknown): string {
  if (e instanceof SyntaxError) return 'it is not JSON'
  const { issues, message } = e as { issues?: { message: string; path: PropertyKey[] }[]; message: string }
  const [issue] = issues ?? []
  return issue ? `${issue.path.map(String).join('.') || 'it'}: ${issue.message}` : message
}

import { Link } from 'wouter-preact'
import type { Profile } from '../../wire/profiles.ts'
import type { Job, Recording } from '../../wire/recordings.ts'
import type { Destination } from '../../wire/uploads.ts'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useNode, useRead, useRoom } from '../data/reads.ts'
import { When } from '../time/when.tsx'
import { Badge, type Fact, Facts, Name, Section } from '../ui/parts.tsx'
import { useWords } from '../words/words.ts'
import { Length } from './rows.tsx'
import { capturedBy, inputsOf } from './sound.rules.ts'

/** Where, with what and how a take was made. */
export function TakeFacts({ jobs, take }: { jobs: readonly Job[]; take: Recording }) {
  const words = useWords()
  const made = take.renditions?.primary ?? {}
  const { gapCount = 0, gapSeconds = 0 } = made
  const missing = gapSeconds.toLocaleString(words.locale, { maximumFractionDigits: 2 })
  const place = usePlace(take, jobs)
  const profile = useProfile(take.recordingProfileId)
  const rows: Fact[] = [
    [words.take.recorded, <When key="at" at={take.recordedAt} />],
    [words.take.length, <Length key="length" take={take} />],
    [words.take.source, words.take.sources[take.source]],
    ...place,
    [words.take.profile, profile],
    [words.take.health, take.healthStatus !== 'unknown' && <Health key="health" of={take.healthStatus} />],
    [words.take.held, usePlaces(take.held)],
    [words.take.gaps, gapCount > 0 && words.take.gapsOf(gapCount, missing)],
    [words.take.denoiser, made.denoiser && `${made.denoiser.engine} (${made.denoiser.model})`],
    [words.take.loudness, made.loudness && words.units.lufs(made.loudness.integratedLufs.toFixed(1))],
    [words.take.truePeak, made.loudness && words.units.db(made.loudness.truePeakDbtp.toFixed(1))],
    [words.library.folder, <Name key="folder">{take.folder}</Name>],
    [words.take.tags, take.tags.length > 0 && <Name key="tags">{take.tags.join(', ')}</Name>],
    [words.take.notes, take.notes && <Name key="notes">{take.notes}</Name>],
    [words.take.checksum, take.checksum && <code key="checksum">{take.checksum}</code>],
  ]
  return (
    <Section title={words.take.title}>
      <Facts of={rows} />
    </Section>
  )
}

/** The room, the recorder, its device and the inputs of it. */
function usePlace(take: Recording, jobs: readonly Job[]): Fact[] {
  const words = useWords()
  const node = useNode(take.nodeId).data?.data
  const room = useRoom(take.roomId).data?.data
  const device = node && capturedBy(take, jobs, node)
  const inputs = inputsOf(take, jobs)
  const { capture, source } = take.renditions?.primary ?? {}
  return [
    [
      words.take.room,
      room && (
        <Link key="room" href={`/rooms/${encodeURIComponent(room.id)}`}>
          <Name>{room.name}</Name>
        </Link>
      ),
    ],
    [
      words.take.recorder,
      node && (
        <Link key="node" href={`/recorders/${encodeURIComponent(node.id)}`}>
          <Name>{node.alias}</Name>
        </Link>
      ),
    ],
    [words.take.soundDevice, <Name key="device">{take.capture?.interfaceName ?? device?.alias}</Name>],
    [words.take.inputs, inputs.join(', ')],
    [words.take.device, capture && `${capture.channels} x ${capture.sampleRate} Hz, ${capture.format}`],
    [words.take.signal, source === 'test' && words.rooms.madeUp],
  ]
}

/** Where the files of a take are, by the names of destinations for who may read settings. */
function usePlaces(held: readonly string[]): string {
  const words = useWords()
  const { me } = useApp()
  const isElsewhere = held.some((place) => place !== 'local') && may(me, 'settings:read')
  const path = isElsewhere ? '/settings/upload-destinations' : undefined
  const destinations = useRead<{ data: Destination[] }>(path, ['settings'])
  const nameOf = (id: string): string => destinations.data?.data.find((one) => one.id === id)?.displayName ?? id
  return held.map((place) => (place === 'local' ? words.take.heldHere : nameOf(place))).join(', ')
}

/** The name of a profile, for who may read settings. */
function useProfile(id: string | undefined): string | undefined {
  const { me } = useApp()
  const path = id && may(me, 'settings:read') ? '/settings/recording-profiles' : undefined
  const profiles = useRead<{ data: Profile[] }>(path, ['settings'])
  return profiles.data?.data.find((one) => one.id === id)?.name
}

function Health({ of }: { of: Exclude<Recording['healthStatus'], 'unknown'> }) {
  const words = useWords()
  return <Badge state={of === 'healthy' ? 'online' : of} word={words.take.healths[of]} />
}

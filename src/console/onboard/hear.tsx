import { useState } from 'preact/hooks'
import { useSearchParams } from 'wouter-preact'
import type { Interface, Node } from '../../wire/nodes.ts'
import type { Recording } from '../../wire/recordings.ts'
import { useRead } from '../data/reads.ts'
import { namedChannels, present } from '../meters/channels.rules.ts'
import { MeterStrip } from '../meters/strip.tsx'
import { ChannelsDialog } from '../recorders/channels.tsx'
import { Trial } from '../rooms/trial.tsx'
import { Badge, Button, Name, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { Player } from '../waveform/player.tsx'
import { useWords } from '../words/words.ts'
import { type Heard, listened, spoken } from './ticks.rules.ts'

/** Levels with a tick for each channel that was spoken into, live listening, a test take. */
export function Hear({ node, works }: { node: Node; works(take: string): void }) {
  const words = useWords()
  const devices = present(node)
  return (
    <Section title={node.alias} aside={<Badge state={node.status} word={words.status[node.status] ?? node.status} />}>
      <p role="status">{words.onboard.online(node.agentVersion)}</p>
      {devices.length === 0 ? <p>{words.onboard.noDevice}</p> : <p>{words.onboard.speak}</p>}
      {devices.map((device) => (
        <Device key={device.id} device={device} node={node} />
      ))}
      <TestTake node={node} works={works} />
    </Section>
  )
}

function Device({ device, node }: { device: Interface; node: Node }) {
  const words = useWords()
  const [heard, setHeard] = useState<Heard[]>([])
  const [naming, setNaming] = useState(false)
  return (
    <div class={ui.stack}>
      <div class={ui.heading}>
        <h3>
          <Name>{device.alias}</Name>
        </h3>
        <Button onClick={() => setNaming(true)}>{words.edit.channels}</Button>
      </div>
      <MeterStrip device={device} nodeId={node.id} tell={(levels) => setHeard((before) => listened(before, levels))} />
      <ul class={ui.row}>
        {namedChannels(device, words.meter.channel).map(({ index, label }, i) => {
          const ticked = heard[i] !== undefined && spoken(heard[i])
          return (
            <li key={index}>
              <Badge
                state={ticked ? 'online' : 'queued'}
                word={`${label}: ${ticked ? words.onboard.heard : words.onboard.notHeard}`}
              />
            </li>
          )
        })}
      </ul>
      {naming && <ChannelsDialog close={() => setNaming(false)} device={device} node={node} />}
    </div>
  )
}

function TestTake({ node, works }: { node: Node; works(take: string): void }) {
  const [params] = useSearchParams()
  const id = params.get('take')
  const take = useRead<{ data: Recording }>(id ? `/recordings/${encodeURIComponent(id)}` : undefined, [
    'recording',
    'job',
  ])
  const made = take.data?.data
  return (
    <>
      <Trial made={made} node={node} roomId={node.roomId} started={(started) => works(started.id)} />
      {made?.cached && (
        <Player
          duration={made.durationSeconds}
          moments={[]}
          src={`/api/v1/recordings/${encodeURIComponent(made.id)}/stream`}
          title={made.name}
          waveform={`/recordings/${encodeURIComponent(made.id)}/waveform`}
        />
      )}
    </>
  )
}

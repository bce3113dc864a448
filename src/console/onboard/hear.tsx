import { useState } from 'preact/hooks'
import type { Interface, Node } from '../../wire/nodes.ts'
import { namedChannels, present } from '../meters/channels.rules.ts'
import { MeterStrip } from '../meters/strip.tsx'
import { ChannelsDialog } from '../recorders/channels.tsx'
import { titlesOf } from '../rooms/channels.rules.ts'
import { isSilent } from '../rooms/list.rules.ts'
import { TestTake } from '../rooms/testtake.tsx'
import { Badge, Button, Name, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { type Heard, listened, spoken } from './ticks.rules.ts'

/** Levels with a tick for each channel that was spoken into, live listening, a test take. `again`: the way to set it up once more. */
export function Hear({ again, node }: { again(): void; node: Node }) {
  const words = useWords()
  const devices = present(node)
  return (
    <Section title={node.alias} aside={<Badge state={node.status} word={words.status[node.status] ?? node.status} />}>
      <p role="status">{isSilent(node) ? words.onboard.away : words.onboard.online(node.agentVersion)}</p>
      {isSilent(node) && (
        <div class={ui.row}>
          <Button onClick={again}>{words.recorders.bootstrap}</Button>
        </div>
      )}
      {devices.length === 0 ? <p>{words.onboard.noDevice}</p> : <p>{words.onboard.speak}</p>}
      {devices.map((device) => (
        <Device key={device.id} device={device} node={node} />
      ))}
      <TestTake node={node} roomId={node.roomId} />
    </Section>
  )
}

function Device({ device, node }: { device: Interface; node: Node }) {
  const words = useWords()
  const [heard, setHeard] = useState<Heard[]>([])
  const [naming, setNaming] = useState(false)
  const isTest = device.systemRef?.startsWith('test:') === true
  return (
    <div class={ui.stack}>
      <div class={ui.heading}>
        <h3>
          <Name>{titlesOf(node).get(device.id)}</Name>
        </h3>
        <Button onClick={() => setNaming(true)}>{words.edit.channels}</Button>
      </div>
      <MeterStrip device={device} nodeId={node.id} tell={(levels) => setHeard((before) => listened(before, levels))} />
      <ul class={ui.row}>
        {namedChannels(device, words.meter.channel).map(({ index, label }, i) => {
          const ticked = isTest || (heard[i] !== undefined && spoken(heard[i]))
          const word = isTest ? words.meter.testTone : ticked ? words.onboard.heard : words.onboard.notHeard
          return (
            <li key={index}>
              <Badge state={ticked ? 'online' : 'queued'} word={`${label}: ${word}`} />
            </li>
          )
        })}
      </ul>
      {naming && <ChannelsDialog close={() => setNaming(false)} device={device} node={node} />}
    </div>
  )
}

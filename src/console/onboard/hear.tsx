import { useState } from 'preact/hooks'
import type { Interface, Node } from '../../wire/nodes.ts'
import type { Recording } from '../../wire/recordings.ts'
import { TakePlayer } from '../library/player.tsx'
import { namedChannels, present } from '../meters/channels.rules.ts'
import { MeterStrip } from '../meters/strip.tsx'
import { ChannelsDialog } from '../recorders/channels.tsx'
import { Trial } from '../rooms/trial.tsx'
import { Badge, Button, classes, Name, Section } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { type Heard, listened, spoken } from './ticks.rules.ts'

interface HearProps {
  /** The test take as it is now. */
  made: Recording | undefined
  node: Node
  started(take: string): void
}

/** Levels with a tick for each channel that was spoken into, live listening, a test take. */
export function Hear({ made, node, started }: HearProps) {
  const words = useWords()
  const devices = present(node)
  return (
    <Section title={node.alias} aside={<Badge state={node.status} word={words.status[node.status] ?? node.status} />}>
      <p role="status">{words.onboard.online(node.agentVersion)}</p>
      {devices.length === 0 ? <p>{words.onboard.noDevice}</p> : <p>{words.onboard.speak}</p>}
      {devices.map((device) => (
        <Device key={device.id} device={device} node={node} />
      ))}
      <TestTake made={made} node={node} started={started} />
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

function TestTake({ made, node, started }: HearProps) {
  const words = useWords()
  const failed = made?.status === 'failed'
  return (
    <>
      <Trial made={made} node={node} roomId={node.roomId} started={({ id }) => started(id)} />
      {made && !made.cached && !failed && <p role="status">{words.onboard.takeRuns}</p>}
      {failed && (
        <p role="alert" class={classes(ui.notice, ui.bad)}>
          {words.take.failed}: <Name>{made.failureReason}</Name>
        </p>
      )}
      {made?.cached && <TakePlayer alerts={[]} first="raw" take={made} />}
    </>
  )
}

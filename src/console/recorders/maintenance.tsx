import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import type { LifecycleAction, LifecycleJob } from '../../wire/lifecycle.ts'
import type { Node, NodeCredential } from '../../wire/nodes.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useApp } from '../app/context.ts'
import { may } from '../app/may.rules.ts'
import { useRead, useWrite } from '../data/reads.ts'
import { When } from '../time/when.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Badge, classes, Failure, Loading, Name, Section } from '../ui/parts.tsx'
import { Copyable } from '../ui/secret.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { Doctor } from './doctor.tsx'
import { Keys } from './keys.tsx'

/** What is done to the box itself. */
export function Maintenance({ node }: { node: Node }) {
  const { me } = useApp()
  return (
    <>
      <Doctor node={node} />
      <Lifecycle node={node} />
      <Credentials node={node} />
      {may(me, 'node:manage', node.roomId) && <Keys node={node} />}
    </>
  )
}

const ACTIONS: readonly LifecycleAction[] = [
  'smoke_check',
  'restart_service',
  'update_binary',
  'install_dependencies',
  'rotate_trust',
  'uninstall',
]

function Lifecycle({ node }: { node: Node }) {
  const words = useWords()
  const [asking, setAsking] = useState<LifecycleAction>()
  const path = `/nodes/${encodeURIComponent(node.id)}`
  const jobs = useRead<{ data: LifecycleJob[] }>(`${path}/lifecycle-jobs`, ['node'])
  return (
    <Section title={words.recorders.jobs}>
      <div class={ui.row}>
        {ACTIONS.map((action) => (
          <ActionButton
            key={action}
            needs="node:manage"
            roomId={node.roomId}
            {...(action === 'uninstall' ? { kind: 'danger' as const } : {})}
            onClick={() => setAsking(action)}
          >
            {words.recorders.actions[action]}
          </ActionButton>
        ))}
      </div>
      <Loading of={jobs}>
        {({ data }) => (
          <>
            {data.length === 0 && <p class={ui.quiet}>{words.recorders.noJobs}</p>}
            <ul class={ui.rows}>
              {data.map((job) => (
                <JobRow key={job.id} job={job} />
              ))}
            </ul>
          </>
        )}
      </Loading>
      {asking && <Act key={asking} action={asking} close={() => setAsking(undefined)} node={node} />}
    </Section>
  )
}

function Act({ action, close, node }: { action: LifecycleAction; close(): void; node: Node }) {
  const words = useWords()
  const write = useWrite(close)
  const path = `/nodes/${encodeURIComponent(node.id)}/lifecycle/${action}`
  return (
    <Confirm
      title={words.recorders.actions[action] ?? action}
      deed={words.recorders.actions[action] ?? action}
      close={close}
      confirm={() => write.mutate({ body: {}, method: 'POST', path })}
      error={write.error}
      pending={write.isPending}
      {...(action === 'uninstall' ? { typed: node.alias } : {})}
    >
      <p>{words.recorders.explained[action]}</p>
    </Confirm>
  )
}

function JobRow({ job: { action, error, requestedAt, requestedBy, status, stderr, stdout } }: { job: LifecycleJob }) {
  const words = useWords()
  const output = [stdout, stderr].filter(Boolean).join('\n')
  return (
    <li class={ui.stack}>
      <div class={ui.row}>
        <span class={ui.grow}>{words.recorders.actions[action] ?? action}</span>
        <Badge
          state={status === 'succeeded' ? 'uploaded' : status}
          word={words.status[status === 'succeeded' ? 'completed' : status] ?? status}
        />
        <span class={classes(ui.small, ui.quiet)}>
          <Name>{requestedBy}</Name> <When at={requestedAt} />
        </span>
      </div>
      {error && (
        <p class={ui.bad}>
          <Name>{error}</Name>
        </p>
      )}
      {output && (
        <details>
          <summary>{words.alerts.details}</summary>
          <pre class={ui.output}>{output}</pre>
        </details>
      )}
    </li>
  )
}

type Asked = 'retire' | 'revoke' | 'rotate'

const PATHS: Record<Asked, string> = {
  retire: 'retire',
  revoke: 'credentials/revoke',
  rotate: 'credentials/rotate',
}

interface Credentialed {
  data: { credential?: NodeCredential & { token?: string } }
}

function Credentials({ node }: { node: Node }) {
  const words = useWords()
  const [, go] = useLocation()
  const [asking, setAsking] = useState<Asked>()
  const path = `/nodes/${encodeURIComponent(node.id)}`
  // Shown once: what is asked for next takes its place.
  const [token, setToken] = useState<string>()
  const reinstate = useWrite()
  const retired = node.status === 'retired'
  return (
    <Section title={words.recorders.credentials}>
      <div class={ui.row}>
        <ActionButton
          needs="node:manage"
          roomId={node.roomId}
          onClick={() => go(`/add?node=${encodeURIComponent(node.id)}&anew=1`)}
        >
          {words.recorders.bootstrap}
        </ActionButton>
        <ActionButton needs="node:manage" roomId={node.roomId} onClick={() => setAsking('rotate')}>
          {words.recorders.rotate}
        </ActionButton>
        <ActionButton kind="danger" needs="node:manage" roomId={node.roomId} onClick={() => setAsking('revoke')}>
          {words.recorders.revoke}
        </ActionButton>
        {retired ? (
          <ActionButton
            needs="node:manage"
            roomId={node.roomId}
            disabled={reinstate.isPending}
            onClick={() => reinstate.mutate({ method: 'POST', path: `${path}/reinstate` })}
          >
            {words.recorders.reinstate}
          </ActionButton>
        ) : (
          <ActionButton kind="danger" needs="node:manage" roomId={node.roomId} onClick={() => setAsking('retire')}>
            {words.recorders.retire}
          </ActionButton>
        )}
      </div>
      {token && (
        <>
          <p>{words.recorders.rotated}</p>
          <Copyable label={words.recorders.token} text={token} />
        </>
      )}
      {reinstate.error && <Failure error={reinstate.error} />}
      {asking && (
        <Credential
          key={asking}
          asked={asking}
          close={() => setAsking(undefined)}
          done={({ data }) => setToken(data.credential?.token)}
          node={node}
        />
      )}
    </Section>
  )
}

interface CredentialProps {
  asked: Asked
  close(): void
  done(answer: Credentialed): void
  node: Node
}

function Credential({ asked, close, done, node }: CredentialProps) {
  const words = useWords()
  const write = useWrite<Credentialed>((answer) => {
    done(answer)
    close()
  })
  const path = `/nodes/${encodeURIComponent(node.id)}/${PATHS[asked]}`
  return (
    <Confirm
      title={words.recorders[asked]}
      deed={words.recorders[asked]}
      close={close}
      confirm={() => write.mutate({ method: 'POST', path })}
      error={write.error}
      pending={write.isPending}
      {...(asked === 'rotate' ? {} : { typed: node.alias })}
    >
      <p>{words.recorders[`${asked}Explained`]}</p>
    </Confirm>
  )
}

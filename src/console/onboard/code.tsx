import { Fragment } from 'preact'
import type { PairingCode } from '../../wire/pairing.ts'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import { type IssueProps, IssueToken } from './issue.tsx'

/** For a box with a keyboard and nothing to paste from: a short line, and a code that the box asks for. */
export function Code({ address, node }: IssueProps) {
  const { onboard } = useWords()
  return (
    <>
      <p>{onboard.codeIt}</p>
      <IssueToken<PairingCode>
        address={address}
        node={node}
        what="pairing-code"
        make={(told) => (told ? onboard.newCode : onboard.makeCode)}
      >
        {({ code, installLine }) => (
          <>
            {installLine && <Typed label={onboard.codeLine} text={installLine} />}
            <Typed label={onboard.codeElse} text={setupLine(address)} />
            <div class={ui.field}>
              <span>{onboard.code}</span>
              <output aria-label={onboard.code} class={ui.code} translate={false}>
                {code}
              </output>
            </div>
          </>
        )}
      </IssueToken>
    </>
  )
}

/** For a box that has the program: without a value the flag asks for the code. */
const setupLine = (address: string): string =>
  `sudo ./roomtone setup agent --controller-url ${address} --pairing-code${address.startsWith('http:') ? ' --allow-insecure' : ''}`

/** A line that is read and typed: it is broken between its words only. */
const Typed = ({ label, text }: { label: string; text: string }) => (
  <div class={ui.field}>
    <span>{label}</span>
    <code class={ui.typed} translate={false}>
      {text.split(' ').map((word, at) => (
        <Fragment key={at}>
          {at > 0 && ' '}
          <span>{word}</span>
        </Fragment>
      ))}
    </code>
  </div>
)

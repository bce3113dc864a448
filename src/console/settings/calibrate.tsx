import { useState } from 'preact/hooks'
import type { Calibration } from '../../wire/watchdog.ts'
import { ActionButton } from '../app/actionbutton.tsx'
import { useWrite } from '../data/reads.ts'
import { NodePicker } from '../recorders/picker.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Form, Tick } from '../ui/form.tsx'
import { Facts } from '../ui/parts.tsx'
import ui from '../ui/ui.module.css'
import { useWords } from '../words/words.ts'
import type { Thing } from './families.rules.ts'

/** Thresholds from what a recorder has just heard: shown first, kept when asked to. */
export function Calibrate({ thing }: { thing: Thing }) {
  const words = useWords()
  const [open, setOpen] = useState(false)
  return (
    <>
      <ActionButton needs="settings:manage" onClick={() => setOpen(true)}>
        {words.settings.calibrate}
      </ActionButton>
      {open && <CalibrateDialog close={() => setOpen(false)} thing={thing} />}
    </>
  )
}

function CalibrateDialog({ close, thing }: { close(): void; thing: Thing }) {
  const words = useWords()
  const [found, setFound] = useState<Calibration>()
  const write = useWrite<{ data: { calibration: Calibration } }>(({ data }) => setFound(data.calibration))
  const path = `/settings/watchdog-policies/${encodeURIComponent(thing.id)}/calibrations`
  return (
    <Dialog title={`${words.settings.calibrate}: ${thing.name}`} close={close}>
      <p class={ui.quiet}>{words.settings.calibrateExplained}</p>
      <Form
        error={write.error}
        pending={write.isPending}
        send={(body) => write.mutate({ body, method: 'POST', path })}
        submit={words.settings.measure}
      >
        <NodePicker />
        <Field
          name="signalMarginDb"
          type="number"
          step="any"
          min={0}
          max={40}
          label={words.settings.margin}
          defaultValue={8}
        />
        <Tick name="apply" label={words.settings.applyAtOnce} />
      </Form>
      {found && <Found {...found} />}
    </Dialog>
  )
}

function Found({ analysis, applied, recommendation: { update }, warnings }: Calibration) {
  const words = useWords()
  const dbfs = (value: number): string => `${value.toLocaleString(words.locale, { maximumFractionDigits: 1 })} dBFS`
  return (
    <div role="status" class={ui.stack}>
      <Facts
        of={[
          [words.settings.frames, analysis.frameCount.toLocaleString(words.locale)],
          [words.settings.median, dbfs(analysis.medianMetricDbfs)],
          [words.settings.loudest, dbfs(analysis.observedMaxMetricDbfs)],
          [words.settings.fields.thresholdDbfs ?? '', dbfs(update.thresholdDbfs)],
          [words.settings.fields.minSpeechScore ?? '', update.minSpeechScore?.toLocaleString(words.locale)],
        ]}
      />
      {warnings.map((one) => (
        <p key={one} class={ui.warn}>
          {words.settings.warnings[one]}
        </p>
      ))}
      <p>{applied ? words.settings.applied : words.settings.notApplied}</p>
    </div>
  )
}

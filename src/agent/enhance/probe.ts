import { errorFields, type Log } from '../../kernel/log.ts'
import type { Denoiser } from '../../wire/runtime.ts'
import type { Report } from '../health/report.ts'
import type { Service } from '../proc/bell.ts'
import { type DeepModel, described, ModelUnusable } from './model.rules.ts'
import { openDenoiser } from './thread.ts'

export const modelUnusable = (model: DeepModel, e: Error): Parameters<Report>[0] => ({
  details: { error: e.message, model: model.name, usingInstead: 'rnnoise' },
  severity: 'warning',
  type: 'agent.enhancement.model_unusable',
})

/**
 * Tries the model of the settings when the agent starts, so that a bad one is known before the first take needs it. The
 * embedded one was tried at build time.
 */
export class ModelProbe implements Service {
  /** What the deep engine runs; undefined while that is not known, and when it cannot. */
  about: Denoiser | undefined
  readonly #deps: { log: Log; model: DeepModel; report: Report }
  readonly #stopping = new AbortController()
  #probing: Promise<void> = Promise.resolve()

  constructor(deps: { log: Log; model: DeepModel; report: Report }) {
    this.#deps = deps
    if (deps.model.file === undefined) this.about = described(deps.model)
  }

  start(): void {
    if (this.#deps.model.file !== undefined) this.#probing = this.#probe()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#probing
  }

  async #probe(): Promise<void> {
    const { log, model, report } = this.#deps
    try {
      const thread = await openDenoiser({ engine: 'deepfilternet3', model }, this.#stopping.signal)
      await thread.close()
      this.about = thread.about
      log.info('denoiser model loaded', { ...thread.about })
    } catch (e) {
      if (this.#stopping.signal.aborted) return
      log.error('SVC_DENOISE_MODEL is unusable: falling back to rnnoise', errorFields(e))
      // Any other failure is reported by the take that meets it.
      if (e instanceof ModelUnusable) report(modelUnusable(model, e))
    }
  }
}

import { JOB_STAGES, type JobProgress } from '../../wire/recordings.ts'

/** Where a job is. Stages only go forward, and within a stage the percentage does: what is done again is not told. */
export class Progress {
  #now: JobProgress = { percent: 0, stage: 'capturing' }

  get now(): JobProgress {
    return this.#now
  }

  at(stage: JobProgress['stage'], percent: number): void {
    const ahead = JOB_STAGES.indexOf(stage) - JOB_STAGES.indexOf(this.#now.stage)
    if (ahead < 0) return
    const bounded = Math.min(100, Math.max(0, percent))
    this.#now = { percent: ahead > 0 ? bounded : Math.max(this.#now.percent, bounded), stage }
  }
}

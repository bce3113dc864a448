// The two networks that take noise out of speech. Importing this loads the ONNX runtime: for worker threads only.
import { loadDeep } from './deep.onnx.ts'
import type { Denoiser, DenoiserName } from './denoiser.rules.ts'
import type { DeepModel } from './model.rules.ts'
import { loadRecurrent } from './recurrent.ts'

/**
 * A frame takes up to a millisecond. The bytes of network and runtime are read in the thread itself
 * (embedded assets are there too, inside the executable); only `model`, a plain record, has to reach it by workerData.
 * @throws ModelUnusable when the deep engine's model is missing, another than expected, or does not fit
 */
export const loadDenoiser = (engine: DenoiserName, model: DeepModel): Promise<Denoiser> =>
  engine === 'rnnoise' ? loadRecurrent() : loadDeep(model)

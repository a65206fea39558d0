import { Controller } from '@nestjs/common';
import {
  type BeginImage,
  catalog,
  type FinishImage,
  type GetImage,
  type ImageHead,
  type ReadImageChunk,
  type StoredImage,
  type WriteImageChunk,
} from '@plant-shop/contracts/catalog';
import type { Replayed } from '@plant-shop/platform/rpc/answer';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { ImagesService } from './images.service.js';

@Controller()
export class ImagesController {
  constructor(private readonly images: ImagesService) {}

  @Answers(catalog.beginImage)
  beginImage({ plantId }: BeginImage): Promise<{ uploadId: string }> {
    return this.images.begin(plantId);
  }

  @Answers(catalog.writeImageChunk)
  writeImageChunk(chunk: WriteImageChunk, context: RpcContext): Promise<{ bytes: number }> {
    return this.images.writeChunk(context, chunk);
  }

  @Answers(catalog.finishImage)
  finishImage(upload: FinishImage, context: RpcContext): Promise<StoredImage | Replayed> {
    return this.images.finish(context, upload);
  }

  @Answers(catalog.getImage)
  getImage({ imageId }: GetImage): Promise<ImageHead> {
    return this.images.get(imageId);
  }

  @Answers(catalog.readImageChunk)
  readImageChunk({ imageId, index }: ReadImageChunk, context: RpcContext): Promise<{ data: string }> {
    return this.images.readChunk(context, imageId, index);
  }
}

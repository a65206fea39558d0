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
import { Answers } from '@plant-shop/platform/rpc/answers';
import { ImagesService } from './images.service.js';

@Controller()
export class ImagesController {
  constructor(private readonly images: ImagesService) {}

  @Answers(catalog.beginImage)
  beginImage({ plantId }: BeginImage): Promise<{ uploadId: string }> {
    return this.images.begin(plantId);
  }

  @Answers(catalog.writeImageChunk)
  writeImageChunk({ uploadId, index, data }: WriteImageChunk): Promise<{ bytes: number }> {
    return this.images.writeChunk(uploadId, index, data);
  }

  @Answers(catalog.finishImage)
  finishImage({ uploadId }: FinishImage): Promise<StoredImage> {
    return this.images.finish(uploadId);
  }

  @Answers(catalog.getImage)
  getImage({ imageId }: GetImage): Promise<ImageHead> {
    return this.images.get(imageId);
  }

  @Answers(catalog.readImageChunk)
  readImageChunk({ imageId, index }: ReadImageChunk): Promise<{ data: string }> {
    return this.images.readChunk(imageId, index);
  }
}

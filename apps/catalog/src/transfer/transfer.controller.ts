import { Controller } from '@nestjs/common';
import {
  catalog,
  type EndExport,
  type ExportedPage,
  type ImportLinePreview,
  type ImportLineResult,
  type ImportPlants,
  type ReadExport,
} from '@plant-shop/contracts/catalog';
import { Answers } from '@plant-shop/platform/rpc/answers.decorator';
import type { RpcContext } from '@plant-shop/platform/rpc/context';
import { ExportService } from './export.service.js';
import { ImportService } from './import.service.js';

@Controller()
export class TransferController {
  constructor(
    private readonly imports: ImportService,
    private readonly exports: ExportService,
  ) {}

  @Answers(catalog.importPlants)
  importPlants({ lines }: ImportPlants, context: RpcContext): Promise<ImportLineResult[]> {
    return this.imports.import(context, lines);
  }

  @Answers(catalog.previewImport)
  previewImport({ lines }: ImportPlants, context: RpcContext): Promise<ImportLinePreview[]> {
    return this.imports.preview(context, lines);
  }

  @Answers(catalog.beginExport)
  beginExport(): Promise<{ snapshot: string }> {
    return this.exports.begin();
  }

  @Answers(catalog.readExport)
  readExport({ snapshot, after }: ReadExport): Promise<ExportedPage> {
    return this.exports.read(snapshot, after);
  }

  @Answers(catalog.endExport)
  endExport({ snapshot }: EndExport): Promise<{ snapshot: string }> {
    return this.exports.end(snapshot);
  }
}

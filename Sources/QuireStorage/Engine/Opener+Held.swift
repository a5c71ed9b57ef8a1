// Opening a data file that another engine has open, at a checkpoint that it holds.

extension Opener {
  /// Opens the data file read-only at `image`, without a lock and without a look at meta pages, log, catalog or free
  /// map, all of which the other engine goes on changing.
  ///
  /// What is read is right as long as the other engine holds the checkpoint: the caller has to know that it still did
  /// when the last page had been read. Afterwards a page may be another one's, which its checksum tells.
  ///
  /// - Throws: `fileChanged` if the file is another one than the image's; `damagedMetaPage`, `truncatedFile` if it
  ///   cannot be what the image says; `notFound`, `inputOutput`, `invalidOption`.
  package func open(held image: CheckpointImage) throws(StorageError) -> EngineCore {
    try options.check(allowsTestPages: environment.allowsTestPages)
    guard options.isReadOnly else {
      throw StorageError(
        .invalidOption, "What another process holds can only be read. Open it with isReadOnly.", path: path)
    }
    let file: any File
    do throws(SystemError) { file = try environment.fileSystem.open(path, .readOnly) } catch {
      throw StorageError(opening: error, path: path)
    }
    do throws(StorageError) {
      let page = try check(file, image)
      guard let found = image.trees(pageCount: page.pageCount) else {
        throw StorageError(
          .damagedMetaPage, "What was told of the trees breaks the format. Ask the other process again.", path: path)
      }
      let logFiles = LogFiles(
        fileSystem: environment.fileSystem, databasePath: path, databaseID: page.databaseID)
      let core = try assemble(file, MetaPages(held: page, of: file), logFiles, trees: found)
      core.isRecovered = true
      return core
    } catch {
      file.close()
      throw error
    }
  }

  private func check(_ file: any File, _ image: CheckpointImage) throws(StorageError) -> MetaPage {
    guard let page = image.metaPage, page.catalog.number == .none, page.freeMap.number == .none, page.treeCount == 0
    else {
      throw StorageError(
        .damagedMetaPage, "What was told is no meta page of a held checkpoint. Ask the other process again.",
        path: path)
    }
    let status: FileStatus
    do throws(SystemError) { status = try file.status() } catch {
      throw StorageError(.inputOutput, "The file cannot be examined.", path: path, systemError: error)
    }
    guard status.identity == image.identity, status.isRegularFile else {
      throw StorageError(
        .fileChanged, "The other process has another file open than the one at this path. Check the path.", path: path)
    }
    let needed = Int(page.pageCount) * page.pageSize
    guard status.byteCount >= needed else {
      throw StorageError(
        .truncatedFile, "The file has \(status.byteCount) of \(needed) bytes. Ask the other process again.",
        path: path, offset: status.byteCount)
    }
    return page
  }
}

extension StorageEngine {
  /// Opens a data file that another engine has open, at a checkpoint that it holds; see `Opener.open(held:)`.
  package convenience init(
    at path: String, options: StorageOptions, held image: CheckpointImage,
    environment: StorageEnvironment = StorageEnvironment()
  ) throws(StorageError) {
    let path = environment.fileSystem.canonicalPath(path)
    self.init(core: try Opener(path: path, options: options, environment: environment).open(held: image))
  }
}

// Checks of an engine at rest: its parts agree with each other, and no page or slot has been lost.

internal import QuireStorage

/// Looks into an engine that nobody else uses.
struct EngineChecks {
  let log: TortureLog

  /// Whether the parts of the engine agree with each other.
  func checkParts(_ core: EngineCore) throws {
    let broken = [
      ("slot pool", core.store.pool.checkInvariants()), ("frames", core.store.frames.checkInvariants()),
      ("allocator", core.allocator.checkInvariants()), ("values", core.store.checkUnwritten()),
      ("engine", try core.checkInvariants()),
    ]
    for (part, text) in broken {
      if let text { throw log.failure(.broken, "\(part): \(text)") }
    }
  }

  /// After a checkpoint without pins each page of the file is reached once or free, and each slot has an owner.
  func checkForLeaks(_ core: EngineCore) throws {
    core.reclaimer.collect()
    guard core.store.dirtyCount == 0 else {
      throw log.failure(
        .broken,
        """
        \(core.store.frames.dirtyCount) frames and \(core.store.unwrittenCount) values are dirty after a checkpoint, \
        \(core.reclaimer.waitingCount) items wait, \
        \(core.readerCount) readers, published \(core.slots.newest.csn), head \(core.head.csn)
        """)
    }
    var owners = [UInt8](repeating: 0, count: Int(core.allocator.pageCount))
    func own(_ number: PageNumber) throws {
      guard number.rawValue < UInt64(owners.count), owners[Int(number.rawValue)] == 0 else {
        throw log.failure(.broken, "\(number) is reached twice, or lies behind the end of the file")
      }
      owners[Int(number.rawValue)] = 1
    }
    var found: [PageNumber] = []
    do throws(StorageError) {
      let reader = TreeReader(core.store)
      for index in 0..<core.head.treeCount {
        try collectPages(core, reader, core.head.trees[index], &found)
      }
      try collectPages(core, reader, core.catalog.root, &found)
      core.freeMap.forEachPage { found.append($0) }
    } catch {
      throw log.failure(.falseAlarm, "walking the trees threw \(error)")
    }
    for number in found { try own(number) }
    for number in core.allocator.freeNumbers() { try own(PageNumber(number)) }
    if let lost = owners.indices.dropFirst(2).first(where: { owners[$0] == 0 }) {
      throw log.failure(.broken, "page \(lost) of \(owners.count) is neither reached nor free")
    }
    let resident = (2..<core.store.pageCount).count { core.store.isResident(PageNumber($0)) }
    let lent = core.store.pool.lentCount - core.store.retiredCount
    if lent != resident {
      throw log.failure(.broken, "\(lent) slots are lent, \(resident) pages are in memory")
    }
  }

  private func collectPages(
    _ core: EngineCore, _ reader: TreeReader, _ root: TreeRoot, _ found: inout [PageNumber]
  ) throws(StorageError) {
    if root.reference.isNone { return }
    var left = [(reference: root.reference, checksum: root.checksum, level: root.level)]
    while let (reference, checksum, level) = left.popLast() {
      let page = try reader.page(reference, checksum: checksum, level: level)
      found.append(reference.isDirty ? core.store.frames.location(reference.frame).pageNumber : reference.pageNumber)
      guard level > 0 else {
        for index in 0..<page.count where page.leafCell(index).isExtent {
          let extent = page.leafCell(index).extent
          let count = UInt64(extent.layout(pageSize: core.store.pageSize).pageCount)
          for number in extent.first.rawValue..<(extent.first.rawValue + count) { found.append(PageNumber(number)) }
        }
        continue
      }
      for index in 0..<page.count {
        left.append((PageReference(rawValue: page.references[index]), page.checksums[index], level - 1))
      }
    }
  }
}

// One flipped bit anywhere: an error, or exactly what was there before. Never something else.

import QuireStorage
import QuireTesting
import Testing

@Suite struct BitFlipTests {
  private static let path = TinyDatabase.path

  /// Flips one bit of every byte that `offsets` names, each on a disk of its own, and hands what opening and reading
  /// all of it gave to `check`.
  private func sweep(
    _ disk: SimulatedDisk, file: String, stride step: Int,
    _ check: (_ offset: Int, _ found: Result<DatabaseContent, StorageError>) -> Void
  ) throws {
    let byteCount = try #require(disk.bytes(of: file)).count
    let tiny = TinyDatabase(disk)
    var random = SeededRandom(seed: firstSeed())
    for offset in stride(from: random.below(step), to: byteCount, by: step) {
      let bit = random.below(8)
      trace("\(file): bit \(bit) of byte \(offset)")
      let copy = disk.copy()
      copy.flipBit(bit, at: offset, of: file)
      do {
        let engine = try tiny.open(copy)
        let content = try DatabaseContent(of: engine, checksThoroughly: false)
        check(offset, .success(content))
        // Not closed: an engine that goes away leaves nothing behind that matters here.
      } catch let error as StorageError {
        check(offset, .failure(error))
      }
    }
  }

  /// Every byte in release builds, a sample in debug builds.
  private static func step(debug: Int) -> Int {
    #if DEBUG
      return debug
    #else
      return 1
    #endif
  }

  private func makeClosed() throws -> SimulatedDisk {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 500)
    try engine.checkpoint()
    try TinyDatabase.fill(engine, count: 100, seed: 6)
    try engine.close()
    return tiny.disk
  }

  @Test func dataFileOfAClosedDatabase() throws {
    let disk = try makeClosed()
    let expected = try DatabaseContent(of: TinyDatabase(disk).open(disk.copy()))
    var (errors, unaffected) = (0, 0)
    try sweep(disk, file: Self.path, stride: Self.step(debug: TestSize.isFull ? 151 : 1301)) { offset, found in
      switch found {
      case .success(let content):
        unaffected += 1
        #expect(content == expected, "byte \(offset)")
      case .failure(let error):
        errors += 1
        #expect(error.code == .damagedPage || error.code == .damagedMetaPage, "byte \(offset): \(error)")
        if error.code == .damagedPage { #expect(error.page == PageNumber(UInt64(offset / 4096)), "byte \(offset)") }
      }
    }
    #expect(errors > 12 && unaffected > 0, "\(errors) errors, \(unaffected) without effect")
  }

  @Test func checkFindsEveryFlipInAPageThatIsInUse() throws {
    let disk = try makeClosed()
    let inspector = try Inspector(at: Self.path, fileSystem: disk)
    let meta = try inspector.requireMeta()
    let survey = try inspector.survey()
    let inUse = survey.pages.values.reduce(2) { $0 + $1.count }
    #expect(inUse + survey.freeCount == Int(meta.pageCount))
    var random = SeededRandom(seed: 4)
    var silent = 0
    for page in 2..<Int(meta.pageCount) {
      let copy = disk.copy()
      copy.flipBit(random.below(8), at: page * 4096 + random.below(4096), of: Self.path)
      let defects = try Inspector(at: Self.path, fileSystem: copy).check()
      if defects.isEmpty { silent += 1 } else { #expect(defects[0].page == PageNumber(UInt64(page))) }
    }
    #expect(silent == survey.freeCount)
  }

  /// A database whose process was killed, and its content after each commit that the log can hold.
  private func makeUnclean() throws -> (disk: SimulatedDisk, states: [DatabaseContent], proven: Int) {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 100)
    try engine.checkpoint()
    var states = [try DatabaseContent(of: engine)]
    let tree = try #require(try engine.read { tx in tx.tree(named: "texts") })
    for commit in 0..<20 {
      try engine.write { tx in
        for row in 0..<4 { try tx.put("value \(commit)", for: "key \((commit * 7 + row) % 30)", in: tree) }
      }
      states.append(try DatabaseContent(of: engine))
    }
    let disk = tiny.disk.processKillImage()
    let log = try #require(try Inspector(at: Self.path, fileSystem: disk).log())
    // All that the newest record marks as durable; what came after is the last group.
    let commits = log.scan.records.filter { $0.header.kind == .commit }
    let proven = commits.filter { $0.header.lsn < log.scan.durableLSN }.count
    return (disk, states, proven)
  }

  @Test func logOfAKilledProcess() throws {
    let (disk, states, proven) = try makeUnclean()
    let inspector = try Inspector(at: Self.path, fileSystem: disk)
    let log = try #require(try inspector.log())
    #expect(proven == states.count - 2)
    var (errors, whole, cut) = (0, 0, 0)
    let file = "\(Self.path)-log\(log.meta.segments[0].fileIndex)"
    let used = Int(log.scan.endLSN.rawValue - log.meta.segments[0].firstLSN.rawValue)
    try sweep(disk, file: file, stride: Self.step(debug: TestSize.isFull ? 61 : 211)) { offset, found in
      switch found {
      case .success(let content):
        guard let state = states.lastIndex(of: content) else {
          Issue.record("byte \(offset) gives a content that no commit made")
          return
        }
        #expect(state >= proven, "byte \(offset) drops durable commits in silence")
        if state == states.count - 1 { whole += 1 } else { cut += 1 }
      case .failure(let error):
        errors += 1
        #expect(error.code == .damagedLog, "byte \(offset): \(error)")
        #expect(error.lsn != nil && error.offset != nil)
        #expect(offset < used, "byte \(offset) is behind the log")
      }
    }
    #expect(errors > 5 && whole > 5 && cut > 0, "\(errors) errors, \(whole) whole, \(cut) cut")
  }

  @Test func metaPagesOfAKilledProcess() throws {
    let (disk, states, proven) = try makeUnclean()
    let tiny = TinyDatabase(disk)
    let step = Self.step(debug: 5) * (TestSize.isFull ? 1 : 7)
    for offset in stride(from: 0, to: MetaPage.byteCount, by: step) {
      for slot in 0..<2 {
        let copy = disk.copy()
        copy.flipBit(offset % 8, at: slot * 4096 + offset, of: Self.path)
        do {
          let content = try DatabaseContent(of: tiny.open(copy), checksThoroughly: false)
          let state = states.lastIndex(of: content)
          #expect((state ?? -1) >= proven, "slot \(slot), byte \(offset): state \(state ?? -1) of \(states.count)")
        } catch let error as StorageError {
          let codes: [StorageError.Code] = [.damagedMetaPage, .damagedLog, .missingLog, .damagedPage]
          #expect(codes.contains(error.code), "slot \(slot), byte \(offset): \(error)")
        }
      }
    }
  }

  @Test func pagesOfAllKindsNameThemselvesWhenTouched() throws {
    let disk = try makeClosed()
    let inspector = try Inspector(at: Self.path, fileSystem: disk)
    let meta = try inspector.requireMeta()
    var byKind: [UInt8: PageNumber] = [:]
    for number in 2..<meta.pageCount {
      let page = try inspector.page(PageNumber(number))
      if page.defect != nil { continue }
      byKind[page.bytes[PageLayout.kindOffset]] = PageNumber(number)
    }
    byKind[PageKind.freeMapLeaf.rawValue] = meta.freeMap.number
    let survey = try inspector.survey()
    let root = try #require(survey.trees.first { $0.root.level > 0 })
    byKind[PageKind.branch.rawValue] = root.root.reference.pageNumber
    byKind[100] = meta.catalog.number
    for number in byKind.values {
      let copy = disk.copy()
      copy.flipBit(2, at: Int(number.rawValue) * 4096 + 70, of: Self.path)
      let error = #expect(throws: StorageError.self) {
        let engine = try TinyDatabase(copy).open()
        _ = try DatabaseContent(of: engine)
        try engine.verify()
      }
      #expect(error?.code == .damagedPage)
      #expect(error?.page == number, "\(error.map(\.description) ?? "")")
      #expect(error?.path == Self.path)
    }
  }
}

// Counts of entries that are not there: whatever a file says, compaction and idle maintenance come to an end.

import Dispatch
import QuireStorage
import QuireTesting
import Testing

/// Runs `body` on a thread of its own; false if it is not done after `seconds`, and then it is left behind.
func isDone(within seconds: Int, _ body: @escaping @Sendable () -> Void) -> Bool {
  let done = DispatchSemaphore(value: 0)
  ThreadGroup().start {
    body()
    done.signal()
  }
  return done.wait(timeout: .now() + .seconds(seconds)) == .success
}

@Suite struct ForgedCountTests {
  /// Which counts are forged.
  enum Target: CaseIterable, Sendable {
    case tree
    case children
    case childrenAndTree
    case lastChildren
    case leaves
    case catalogChildren
  }

  private static let forged: [UInt64] = [0, 1 << 31, 1 << 48]

  /// A database with full leaves in front of places that are free and behind them, and enough trees for a catalog with
  /// branches.
  private func makeFile(hasLongValues: Bool) throws -> [UInt8] {
    var tiny = TinyDatabase(pageSize: 512)
    tiny.options.maintainsWhenIdle = false
    let engine = try tiny.open()
    for (name, value) in [("rows", 40), ("gone", 60), ("more", 30)] {
      let tree = try engine.write { tx in try tx.createTree(name, keys: .int64) }
      for start in stride(from: 0, to: 2400, by: 200) {
        try engine.write { tx in
          for key in start..<(start + 200) {
            let isLong = hasLongValues && key % 50 == 0
            try tx.put([UInt8](repeating: 7, count: isLong ? 1500 : value), for: Int64(key), in: tree)
          }
        }
      }
      try engine.checkpoint()
    }
    try engine.write { tx in
      for number in 0..<60 {
        _ = try tx.createTree("a tree with a long name, for the catalog's sake \(number)", keys: .bytes)
      }
      if let tree = tx.tree(named: "gone") { try tx.dropTree(tree) }
    }
    try engine.checkpoint()
    try engine.close()
    return try #require(tiny.disk.bytes(of: TinyDatabase.path))
  }

  private func forge(_ target: Target, _ forger: inout Forger, _ count: UInt64) {
    let places = forger.countPlaces()
    for (index, place) in places.enumerated() {
      let isLast = index + 1 == places.count || places[index + 1].level != place.level
      let isMeant =
        switch target {
        case .tree: place.level == -1
        case .children: !place.isCatalog && place.level >= 1
        case .childrenAndTree: !place.isCatalog && (place.level >= 1 || place.level == -1)
        case .lastChildren: !place.isCatalog && place.level >= 0 && isLast
        case .leaves: !place.isCatalog && place.level == 0
        case .catalogChildren: place.isCatalog
        }
      // Trees without pages have no entries, which opening makes sure of.
      if !isMeant || (place.level == -1 && forger.word(place.offset) & (.max >> 1) == 0) { continue }
      forger.put(forger.word(place.offset) & (1 << 63) | max(count, place.level == -1 ? 1 : 0), at: place.offset)
    }
    forger.seal()
  }

  /// A file in which a dozen branches stand above one another, each of whose children are all the next one: read to its
  /// end, the tree would have more leaves than there are atoms on a beach.
  private func makeLadder() throws -> [UInt8] {
    let bytes = try makeFile(hasLongValues: false)
    var forger = try #require(Forger(bytes, pageSize: 512))
    // Behind the count, the name.
    let entry = try #require(
      forger.countPlaces().first {
        $0.level == -1 && forger.bytes[($0.offset + 8)..<($0.offset + 12)].elementsEqual("rows".utf8)
      })
    let catalogEntry = entry.offset - 18
    var free: [Int] = []
    let map = Int(forger.meta.freeMap.number.rawValue)
    for page in 2..<forger.pageCount {
      let byte = forger.bytes[forger.base(map) + PageLayout.headerByteCount + page / 8]
      if byte & (1 << UInt8(page % 8)) != 0 { free.append(page) }
    }
    try #require(free.count > 12)
    var top = Int(forger.word(catalogEntry + 2))
    while forger.bytes[forger.base(top) + PageLayout.levelOffset] > 1 {
      top = Int(forger.word(forger.referencesOffset(top)))
    }
    let model = forger.bytes[forger.base(top)..<(forger.base(top) + 512)]
    for level in 2...12 {
      let page = free[level]
      forger.bytes.replaceSubrange(forger.base(page)..<(forger.base(page) + 512), with: model)
      forger.bytes[forger.base(page) + PageLayout.levelOffset] = UInt8(level)
      for index in 0..<forger.count(page) { forger.put(UInt64(top), at: forger.referencesOffset(page) + 8 * index) }
      top = page
    }
    forger.bytes[catalogEntry + 1] = 12
    forger.put(UInt64(top), at: catalogEntry + 2)
    forger.seal()
    return forger.bytes
  }

  @Test("References that lead to one page over and over keep nobody going for ever", arguments: [0, 4096])
  func laddersEnd(provenAtOncePageCount: Int) throws {
    let bytes = try makeLadder()
    let works: [(String, @Sendable (StorageEngine) throws -> Void)] = [
      ("forwards", { engine in _ = try DatabaseContent(of: engine, checksThoroughly: false) }),
      (
        "backwards",
        { engine in
          try engine.read { tx in
            guard let tree = tx.tree(named: "rows") else { return }
            var cursor = try tx.cursor(tree)
            while try cursor.previous() {}
          }
        }
      ),
      ("backup", { engine in try engine.backup(to: "/backup.quire") }),
      ("verify", { engine in try engine.verify() }),
      ("statistics", { engine in _ = try engine.treeStatistics() }),
      ("compact", { engine in try engine.compact() }),
      ("maintenance", { engine in while try engine.core.maintainStep() {} }),
      (
        "range",
        { engine in
          try engine.write { tx in
            if let tree = tx.tree(named: "rows") { try tx.deleteRange(from: Int64(5), to: Int64(2000), in: tree) }
          }
        }
      ),
      ("drop", { engine in try engine.write { tx in if let tree = tx.tree(named: "rows") { try tx.dropTree(tree) } } }),
    ]
    for (name, work) in works {
      let isEnded = isDone(within: 30) {
        let disk = SimulatedDisk()
        disk.install(bytes, at: TinyDatabase.path)
        var tiny = TinyDatabase(disk, pageSize: 512)
        tiny.provenAtOncePageCount = provenAtOncePageCount
        do {
          let engine = try tiny.open()
          let error = #expect(throws: StorageError.self, "\(name)") { try work(engine) }
          #expect(error?.code == .damagedPage, "\(name): \(String(describing: error))")
          try engine.close()
        } catch {
          #expect(error is StorageError, "\(name): \(error)")
        }
      }
      try #require(isEnded, "\(name)")
    }
  }

  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: Target.allCases, [false, true])
  func compactionEnds(target: Target, hasLongValues: Bool) throws {
    let bytes = try makeFile(hasLongValues: hasLongValues)
    for count in Self.forged {
      var forger = try #require(Forger(bytes, pageSize: 512))
      forge(target, &forger, count)
      try #require(forger.bytes != bytes)
      let forgedBytes = forger.bytes
      for isThorough in [true, false] {
        let isEnded = isDone(within: 20) {
          let disk = SimulatedDisk()
          disk.install(forgedBytes, at: TinyDatabase.path)
          do {
            let engine = try TinyDatabase(disk, pageSize: 512).open()
            do {
              if isThorough { try engine.compact() } else { while try engine.core.maintainStep() {} }
            } catch {
              #expect(error is StorageError, "\(error)")
            }
            try engine.close()
          } catch {
            #expect(error is StorageError, "\(error)")
          }
        }
        try #require(isEnded, "\(target), count \(count), long values \(hasLongValues), thorough \(isThorough)")
      }
    }
  }
}

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

  @Test(arguments: Target.allCases, [false, true]) func compactionEnds(target: Target, hasLongValues: Bool) throws {
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

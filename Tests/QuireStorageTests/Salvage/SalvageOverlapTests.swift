// Leaves that are many where a branch is lost: all of them are merged, whatever their keys have in common.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite struct SalvageOverlapTests {
  private static let pageSize = 1024

  /// A database that was closed, with one tree that `fill` has filled; returns its id.
  private static func make(
    _ fill: (StorageEngine, Tree) throws -> Void
  ) throws -> (forger: Forger, tree: UInt64, birth: UInt64) {
    let tiny = TinyDatabase(pageSize: pageSize)
    let engine = try tiny.open()
    let tree = try engine.write { tx in try tx.createTree("texts", keys: .bytes) }
    try fill(engine, tree)
    try engine.close()
    let bytes = try #require(tiny.disk.bytes(of: TinyDatabase.path))
    let forger = try #require(Forger(bytes, pageSize: pageSize))
    return (forger, tree.id.rawValue, forger.meta.csn.rawValue)
  }

  private static func salvage(_ bytes: [UInt8], _ options: SalvageOptions = SalvageOptions()) throws -> SalvageOutcome {
    let disk = SimulatedDisk()
    disk.install(bytes, at: TinyDatabase.path)
    return try SalvageOutcome(disk, options)
  }

  /// Zeroes pages of a kind and a tree; returns how many.
  private static func zero(_ kind: PageKind, of tree: UInt64, in bytes: inout [UInt8], of forger: Forger) -> Int {
    var count = 0
    for page in 2..<forger.pageCount where forger.kind(page) == kind.rawValue && forger.treeID(page) == tree {
      let start = page * pageSize
      bytes.replaceSubrange(start..<start + pageSize, with: repeatElement(0, count: pageSize))
      count += 1
    }
    return count
  }

  /// An old version of a page, for another place.
  private static func version(_ page: [UInt8], at place: Int, birth: UInt64, seed: UInt64) -> [UInt8] {
    var copy = page
    copy.withUnsafeMutableBytes { buffer in
      guard let base = buffer.baseAddress else { return }
      base.storeBytes(of: UInt64(place), toByteOffset: PageLayout.pageNumberOffset, as: UInt64.self)
      base.storeBytes(of: birth, toByteOffset: PageLayout.birthOffset, as: UInt64.self)
      let checksum = PageChecksum.compute(PageBytes(base), pageSize: pageSize, seed: seed)
      base.storeBytes(of: checksum, toByteOffset: PageLayout.checksumOffset, as: UInt64.self)
    }
    return copy
  }

  /// Keys that agree in far more bytes than the index of leaves keeps.
  private static func key(_ number: Int) -> [UInt8] {
    Array((String(repeating: "shared", count: 30) + String(100_000 + number)).utf8)
  }

  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: [true, false])
  func lostBranchesOverKeysThatBeginAlikeLoseNothing(includesStale: Bool) throws {
    let count = 12_000
    let value = [UInt8](repeating: 7, count: 100)
    let (forger, tree, _) = try Self.make { engine, tree in
      for start in stride(from: 0, to: count, by: 1000) {
        try engine.write { tx in
          for number in start..<start + 1000 { try tx.put(value, for: Self.key(number), in: tree) }
        }
      }
    }
    var bytes = forger.bytes
    let leaves = (2..<forger.pageCount).count {
      forger.kind($0) == PageKind.leaf.rawValue && forger.treeID($0) == tree
    }
    #expect(leaves > 1024 && Self.zero(.branch, of: tree, in: &bytes, of: forger) > 0)
    let outcome = try Self.salvage(bytes, SalvageOptions(includesStale: includesStale))
    #expect(outcome.misplaced.isEmpty)
    #expect(outcome.entries.count == count && outcome.entries.values.allSatisfy { $0.standing == .current })
    #expect(outcome.losses.isEmpty, "\(outcome.losses.map(\.reason))")
  }

  /// A key that a leaf no longer has is told as old, and found in the oldest of very many versions.
  @Test func theOldestOfManyVersionsIsRead() throws {
    let (forger, tree, birth) = try Self.make { engine, tree in
      try engine.write { tx in for number in 0..<5 { try tx.put("value", for: Self.key(number), in: tree) } }
      try engine.checkpoint()
      try engine.write { tx in _ = try tx.delete(Self.key(2), in: tree) }
    }
    let leaves = (2..<forger.pageCount).filter {
      forger.kind($0) == PageKind.leaf.rawValue && forger.treeID($0) == tree
    }
    let oldest = try #require(leaves.first { forger.count($0) == 5 })
    let newest = try #require(leaves.first { forger.count($0) == 4 })
    func page(_ number: Int) -> [UInt8] { Array(forger.bytes[number * Self.pageSize..<(number + 1) * Self.pageSize]) }
    var bytes = forger.bytes
    #expect(Self.zero(.leaf, of: tree, in: &bytes, of: forger) == leaves.count)
    let seed = forger.meta.databaseID.checksumSeed
    for number in 0..<1500 {
      let place = bytes.count / Self.pageSize
      bytes += Self.version(
        page(number == 700 ? oldest : newest), at: place, birth: number == 700 ? birth : birth + 1, seed: seed)
    }
    let outcome = try Self.salvage(bytes)
    #expect(outcome.misplaced.isEmpty)
    #expect(Set(outcome.entries.keys.map(\.key)) == Set((0..<5).map(Self.key)))
    #expect(outcome.entries.values.allSatisfy { $0.standing == .mayBeOld } && outcome.losses.count == 1)
  }
}

// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// A store to measure beside Quire: a library of the system, which may be missing.
struct Peer {
  let name: String
  /// The target that imports its header, below `Sources`.
  let target: String
  let header: String
  let debian: String
  let brew: String

  /// Whether the header is where compilers look for it. The package manager keeps what this manifest said: after
  /// installing a peer, build once with `--manifest-cache none`.
  var isInstalled: Bool {
    ["/usr/include", "/usr/local/include", "/opt/homebrew/include"].contains { folder in
      FileManager.default.fileExists(atPath: "\(folder)/\(header)")
    }
  }

  /// What the sources ask for with `#if`.
  var define: String { "PEER_\(name.uppercased())" }
}

let peers = [
  Peer(name: "lmdb", target: "CLMDB", header: "lmdb.h", debian: "liblmdb-dev", brew: "lmdb"),
  Peer(name: "sqlite", target: "CSQLite", header: "sqlite3.h", debian: "libsqlite3-dev", brew: "sqlite"),
  Peer(name: "rocksdb", target: "CRocksDB", header: "rocksdb/c.h", debian: "librocksdb-dev", brew: "rocksdb"),
  Peer(name: "leveldb", target: "CLevelDB", header: "leveldb/c.h", debian: "libleveldb-dev", brew: "leveldb"),
]
let installed = peers.filter(\.isInstalled)
/// GRDB is a package and brings all that it needs, but for SQLite.
let hasGRDB = installed.contains { $0.name == "sqlite" }

let settings: [SwiftSetting] =
  [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
  ] + installed.map { .define($0.define) } + (hasGRDB ? [.define("PEER_GRDB")] : [])

let package = Package(
  name: "quire-benchmarks",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "quire-bench", targets: ["QuireBench"])],
  dependencies: [
    // By name, because otherwise a local package is called as the folder that it was cloned into.
    .package(name: "quire", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", exact: "0.2.0"),
    // Exactly this version: GRDB does not tell its own, so the table names this one.
  ] + (hasGRDB ? [.package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0")] : []),
  targets: installed.map {
    .systemLibrary(name: $0.target, providers: [.apt([$0.debian]), .brew([$0.brew])])
  } + [
    // Header only, and empty where valgrind is missing.
    .systemLibrary(name: "CCallgrind", providers: [.apt(["valgrind"])]),
    .executableTarget(
      name: "QuireBench",
      dependencies: [
        "CCallgrind",
        .product(name: "QuireDatabase", package: "quire"),
        .product(name: "QuireFullText", package: "quire"),
        .product(name: "QuireIndexes", package: "quire"),
        .product(name: "QuireRelationships", package: "quire"),
        .product(name: "QuireStorage", package: "quire"),
        .product(name: "QuireTesting", package: "quire"),
        .product(name: "QuireText", package: "quire"),
        .product(name: "QuireViews", package: "quire"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
      ] + installed.map { .target(name: $0.target) }
        + (hasGRDB ? [.product(name: "GRDB", package: "GRDB.swift")] : []),
      swiftSettings: settings
    ),
  ]
)

// swift-tools-version: 6.2
import Foundation
import PackageDescription

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
]

/// Peers are measured where their headers are installed; without them the rest of the suite still builds. The package
/// manager keeps what this manifest said: after installing a peer, build once with `--manifest-cache none`.
let lmdbIsInstalled = ["/usr/include", "/usr/local/include", "/opt/homebrew/include"].contains { folder in
  FileManager.default.fileExists(atPath: "\(folder)/lmdb.h")
}

let lmdb: Target = .systemLibrary(
  name: "CLMDB",
  pkgConfig: "lmdb",
  providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]
)

let package = Package(
  name: "quire-benchmarks",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "quire-bench", targets: ["QuireBench"])],
  dependencies: [
    // By name, because otherwise a local package is called as the folder that it was cloned into.
    .package(name: "quire", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
  ],
  targets: (lmdbIsInstalled ? [lmdb] : []) + [
    .executableTarget(
      name: "QuireBench",
      dependencies: [
        .product(name: "QuireDatabase", package: "quire"),
        .product(name: "QuireStorage", package: "quire"),
        .product(name: "QuireTesting", package: "quire"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ] + (lmdbIsInstalled ? ["CLMDB"] : []),
      swiftSettings: settings
    )
  ]
)

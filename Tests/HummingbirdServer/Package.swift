// swift-tools-version: 6.2
import PackageDescription

/// What an app has that is begun today.
let settings: [SwiftSetting] = [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]

/// The recipe “A server with Hummingbird”. A package of its own: nobody who uses Quire fetches a web server for it. Its
/// folder must not be called `Hummingbird`: the package manager would take it for that package.
let package = Package(
  name: "quire-hummingbird",
  platforms: [.macOS(.v15)],
  dependencies: [
    // By name, because otherwise a local package is called as the folder that it was cloned into.
    .package(name: "quire", path: "../.."),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
  ],
  targets: [
    .target(
      name: "LetterServer",
      dependencies: [
        .product(name: "Quire", package: "quire"), .product(name: "Hummingbird", package: "hummingbird"),
      ], swiftSettings: settings),
    .testTarget(
      name: "LetterServerTests",
      dependencies: ["LetterServer", .product(name: "HummingbirdTesting", package: "hummingbird")],
      swiftSettings: settings),
  ]
)

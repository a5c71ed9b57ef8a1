// swift-tools-version: 6.2
import PackageDescription

/// Every module of ours is built with these: Swift 6 mode, strict concurrency, no warning left standing.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableUpcomingFeature("InferIsolatedConformances"),
]

/// Above the engine, unsafe code must say so. The engine itself is pages in raw memory from end to end: a marker on
/// every line of it would tell nobody anything.
let safeSettings: [SwiftSetting] = settings + [.strictMemorySafety()]

/// Where the system has liblz4. Elsewhere, and with the trait `SwiftLZ4`, blocks are QuireLZ4's.
let liblz4 = Target.Dependency.target(name: "CLZ4", condition: .when(platforms: [.linux, .macOS]))

let package = Package(
  name: "quire",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Quire", targets: ["Quire"]),
    .library(name: "QuireStorage", targets: ["QuireStorage"]),
    .library(name: "QuireDatabase", targets: ["QuireDatabase"]),
    .library(name: "QuireRelationships", targets: ["QuireRelationships"]),
    .library(name: "QuireViews", targets: ["QuireViews"]),
    .library(name: "QuireIndexes", targets: ["QuireIndexes"]),
    .library(name: "QuireObservation", targets: ["QuireObservation"]),
    .library(name: "QuireText", targets: ["QuireText"]),
    .library(name: "QuireFullText", targets: ["QuireFullText"]),
    .library(name: "QuirePostgres", targets: ["QuirePostgres"]),
    .library(name: "QuireTesting", targets: ["QuireTesting"]),
    .library(name: "YapCompat", targets: ["YapCompat"]),
    .library(name: "YapExtensions", targets: ["YapExtensions"]),
    .executable(name: "quiredb", targets: ["quiredb"]),
    .executable(name: "quire-import", targets: ["quire-import"]),
    .executable(name: "quire-postgres", targets: ["quire-postgres"]),
    .executable(name: "quire-torture", targets: ["quire-torture"]),
    .executable(name: "quire-fuzz", targets: ["quire-fuzz"]),
    .executable(name: "quickstart", targets: ["quickstart"]),
    .executable(name: "quire-chat", targets: ["quire-chat"]),
  ],
  // None is on unless somebody asks for it: what it needs is then not even fetched.
  traits: [
    .trait(name: "Example", description: "The web server of quire-chat, the example of an app."),
    .trait(name: "Encryption", description: "Encrypts the values of collections, with swift-crypto."),
    .trait(name: "Metrics", description: "Reports what a database does to swift-metrics."),
    .trait(name: "Postgres", description: "Mirrors rows into PostgreSQL, with the libpq of the system."),
    .trait(name: "SwiftLZ4", description: "Compresses with this package's own codec, not with liblz4."),
    .trait(name: "Tracing", description: "Reports transactions and long work to swift-distributed-tracing."),
    .default(enabledTraits: []),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
    // A command for those who work on this package: no target uses it, so nobody else fetches it.
    .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CLZ4",
      pkgConfig: "liblz4",
      providers: [.apt(["liblz4-dev"]), .brew(["lz4"])]
    ),
    .systemLibrary(name: "CQuirePlatform"),
    // For the importer alone: see `ModuleImports` among the rules of TidyTests.
    .systemLibrary(
      name: "CSQLite3",
      pkgConfig: "sqlite3",
      providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]
    ),
    // For the mirror alone, and only with the trait `Postgres`.
    .systemLibrary(name: "CPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .target(
      name: "QuireStorage",
      dependencies: [
        "CQuirePlatform",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HashTreeCollections", package: "swift-collections"),
        .product(name: "HeapModule", package: "swift-collections"),
      ],
      swiftSettings: settings
    ),
    // Blocks of LZ4, for systems without liblz4; knows nothing else.
    .target(name: "QuireLZ4", packageAccess: false, swiftSettings: settings),
    .target(
      name: "QuireDatabase",
      dependencies: [
        "QuireStorage", "QuireLZ4", "CQuirePlatform", liblz4,
        .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Encryption"])),
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HashTreeCollections", package: "swift-collections"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
        .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"])),
      ],
      swiftSettings: safeSettings
    ),
    // Without access to what this package keeps for itself: the compiler sees to it that the extension uses nothing
    // that others cannot use.
    .target(
      name: "QuireRelationships",
      dependencies: [
        "QuireDatabase",
        .product(name: "HashTreeCollections", package: "swift-collections"),
      ],
      packageAccess: false, swiftSettings: safeSettings
    ),
    .target(
      name: "QuireViews", dependencies: ["QuireDatabase"], packageAccess: false, swiftSettings: safeSettings
    ),
    .target(
      name: "QuireIndexes", dependencies: ["QuireDatabase", "QuireViews"], packageAccess: false,
      swiftSettings: safeSettings
    ),
    // Tokens of texts and what they are compared by; knows no database.
    .target(name: "QuireText", packageAccess: false, swiftSettings: safeSettings),
    .target(
      name: "QuireFullText", dependencies: ["QuireDatabase", "QuireIndexes", "QuireText"], packageAccess: false,
      swiftSettings: safeSettings
    ),
    .target(
      name: "Quire",
      dependencies: [
        "QuireDatabase", "QuireFullText", "QuireIndexes", "QuireRelationships", "QuireStorage", "QuireText",
        "QuireViews",
      ],
      swiftSettings: safeSettings
    ),
    // Not in Quire: what imports Observation, and on Apple's systems SwiftUI, is for apps with screens alone.
    .target(
      name: "QuireObservation", dependencies: ["QuireDatabase", "QuireIndexes", "QuireViews"], packageAccess: false,
      swiftSettings: safeSettings
    ),
    // Archives of Foundation's, read without it, for those who come from where they were stored.
    .target(name: "QuireArchives", packageAccess: false, swiftSettings: safeSettings),
    .target(
      name: "YapCompat", dependencies: ["Quire", "QuireArchives", .product(name: "Logging", package: "swift-log")],
      packageAccess: false, swiftSettings: safeSettings
    ),
    .target(
      name: "YapExtensions", dependencies: ["Quire", "YapCompat"], packageAccess: false, swiftSettings: safeSettings
    ),
    .target(
      name: "QuireTesting",
      dependencies: [
        "QuireDatabase", "QuireStorage",
        .product(name: "DequeModule", package: "swift-collections"),
      ],
      swiftSettings: settings
    ),
    .executableTarget(
      name: "quiredb",
      dependencies: [
        "QuireDatabase",
        "QuireIndexes",
        "QuireRelationships",
        "QuireStorage",
        "QuireViews",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings
    ),
    .target(
      name: "QuireImporting", dependencies: ["CSQLite3", "QuireArchives", "QuireDatabase", "QuireStorage"],
      swiftSettings: settings
    ),
    .executableTarget(
      name: "quire-import",
      dependencies: [
        "QuireDatabase", "QuireImporting", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings
    ),
    // Empty without the trait `Postgres`.
    .target(
      name: "QuirePostgres",
      dependencies: [
        "QuireDatabase", "QuireStorage", .target(name: "CPQ", condition: .when(traits: ["Postgres"])),
        .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
      ],
      swiftSettings: settings
    ),
    .executableTarget(
      name: "quire-postgres",
      dependencies: [
        "QuireDatabase", "QuirePostgres", "QuireStorage", "QuireTesting",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings
    ),
    .executableTarget(
      name: "quire-torture",
      dependencies: [
        "QuireDatabase",
        "QuireFullText",
        "QuireIndexes",
        "QuireRelationships",
        "QuireStorage",
        "QuireTesting",
        "QuireText",
        "QuireViews",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings
    ),
    // As everything else it runs a corpus; built with coverage and `-D FUZZER` it makes one.
    .executableTarget(
      name: "quire-fuzz",
      dependencies: [
        "QuireDatabase",
        "QuireIndexes",
        "QuireLZ4",
        "QuireRelationships",
        "QuireStorage",
        "QuireTesting",
        "QuireViews",
        liblz4,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings
    ),
    // What the tests would notice; see `Fixtures/PlantedBugs`.
    .executableTarget(
      name: "planted-bugs",
      dependencies: [.product(name: "ArgumentParser", package: "swift-argument-parser")],
      swiftSettings: safeSettings
    ),
    .executableTarget(
      name: "quickstart",
      dependencies: [
        "Quire",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: safeSettings
    ),
    // An app as its users write them; its test is Tests/chat.
    .executableTarget(
      name: "quire-chat",
      dependencies: [
        "Quire", .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "FlyingFox", package: "FlyingFox", condition: .when(traits: ["Example"])),
        .product(name: "FlyingSocks", package: "FlyingFox", condition: .when(traits: ["Example"])),
      ],
      resources: [.embedInCode("Page/chat.html")],
      packageAccess: false, swiftSettings: safeSettings
    ),
    .testTarget(
      name: "QuireStorageTests",
      dependencies: ["QuireStorage", "QuireTesting"],
      swiftSettings: settings
    ),
    .testTarget(name: "QuireLZ4Tests", dependencies: ["QuireLZ4", "QuireTesting", liblz4], swiftSettings: settings),
    .testTarget(
      name: "QuireDatabaseTests",
      dependencies: [
        "Quire", "QuireDatabase", "QuireTesting",
        .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Encryption"])),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
        .product(name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
        .product(
          name: "InMemoryTracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"])),
        .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"])),
      ],
      swiftSettings: settings
    ),
    .testTarget(
      name: "QuireRelationshipsTests",
      dependencies: ["Quire", "QuireDatabase", "QuireIndexes", "QuireRelationships", "QuireStorage", "QuireTesting"],
      swiftSettings: settings
    ),
    .testTarget(
      name: "QuireImportingTests",
      dependencies: ["CSQLite3", "Quire", "QuireDatabase", "QuireImporting", "QuireTesting", "YapCompat"],
      swiftSettings: settings
    ),
    .testTarget(
      name: "QuirePostgresTests",
      dependencies: [
        "QuireDatabase", "QuireIndexes", "QuirePostgres", "QuireStorage", "QuireTesting",
        .product(name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
      ],
      swiftSettings: settings
    ),
    .testTarget(
      name: "CrashTests",
      dependencies: ["QuireDatabase", "QuireStorage", "QuireTesting"],
      swiftSettings: settings
    ),
    .testTarget(
      name: "QuireViewsTests",
      dependencies: [
        "QuireDatabase", "QuireStorage", "QuireViews", "QuireTesting", .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: settings),
    .testTarget(
      name: "QuireTextTests", dependencies: ["CSQLite3", "QuireTesting", "QuireText"],
      swiftSettings: settings
    ),
    .testTarget(
      name: "QuireFullTextTests",
      dependencies: ["CSQLite3", "QuireDatabase", "QuireFullText", "QuireIndexes", "QuireTesting", "QuireText"],
      swiftSettings: settings
    ),
    .testTarget(
      name: "QuireIndexesTests", dependencies: ["QuireDatabase", "QuireIndexes", "QuireTesting", "QuireViews"],
      swiftSettings: settings),
    .testTarget(
      name: "QuireObservationTests",
      dependencies: [
        "QuireDatabase", "QuireFullText", "QuireIndexes", "QuireObservation", "QuireTesting",
        "QuireText", "QuireViews",
      ], swiftSettings: settings),
    // What the guides and the comments show, compiled.
    .testTarget(
      name: "ListingTests",
      dependencies: [
        "Quire", "QuireObservation", "QuirePostgres", "QuireStorage", "QuireTesting", "YapCompat", "YapExtensions",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: settings),
    .testTarget(name: "QuickstartTests", dependencies: ["quickstart"], swiftSettings: settings),
    .testTarget(
      name: "YapCompatTests", dependencies: ["Quire", "QuireDatabase", "QuireStorage", "QuireTesting", "YapCompat"],
      swiftSettings: settings),
    .testTarget(
      name: "YapExtensionsTests", dependencies: ["Quire", "QuireTesting", "YapCompat", "YapExtensions"],
      swiftSettings: settings),
    // An app on YapCompat.
    .testTarget(name: "MessengerTests", dependencies: ["Quire", "QuireTesting", "YapCompat"], swiftSettings: settings),
    // Written as apps of the days before Swift 6 are: warnings are theirs.
    .testTarget(name: "Swift5Tests", dependencies: ["YapCompat"], swiftSettings: [.swiftLanguageMode(.v5)]),
    .testTarget(name: "PlantedBugsTests", dependencies: ["planted-bugs"], swiftSettings: settings),
    .testTarget(name: "TidyTests", swiftSettings: settings),
  ]
)

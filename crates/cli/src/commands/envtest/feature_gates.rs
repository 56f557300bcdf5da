//! The feature gates of kube-apiserver 1.36. Each has its default here, and no other value.

use super::flags::{go_bool, invalid};

/// The gates that are on by default.
const ON: &str = "APIResponseCompression APIServerIdentity APIServerTracing AggregatedDiscoveryRemoveBetaType \
     AllowParsingUserUIDFromCertAuth AllowServiceExternalIPs AnonymousAuthConfigurableEndpoints AnyVolumeDataSource \
     AuthorizeNodeWithSelectors AuthorizePodWebsocketUpgradeCreatePermission AuthorizeWithSelectors BtreeWatchCache \
     CPUManagerPolicyBetaOptions CPUManagerPolicyOptions CRDObservedGenerationTracking CRDValidationRatcheting \
     CSIServiceAccountTokenSecrets ClearingNominatedNodeNameAfterBinding ComponentFlagz ComponentStatusz \
     ConsistentListFromCache ConstrainedImpersonation ContainerCheckpoint ContainerRestartRules ContextualLogging \
     CustomCPUCFSQuotaPeriod CustomResourceFieldSelectors DRAAdminAccess DRAConsumableCapacity \
     DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource DRAPartitionableDevices DRAPrioritizedList \
     DRAResourceClaimDeviceStatus DRAResourceClaimGranularStatusAuthorization DRASchedulerFilterTimeout \
     DeclarativeValidation DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas DetectCacheInconsistency \
     DisableAllocatorDualWrite DisableCPUQuotaWithExclusiveCPUs DisableNodeKubeProxyVersion DynamicResourceAllocation \
     EnvFiles ExecProbeTimeout ExtendWebSocketsToKubelet ExternalServiceAccountTokenSigner GracefulNodeShutdown \
     GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HostnameOverride ImageMaximumGCAge ImageVolume \
     InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScaling InPlacePodVerticalScalingInitContainers \
     JobBackoffLimitPerIndex JobManagedBy JobPodReplacementPolicy JobSuccessPolicy KubeletCgroupDriverFromCRI \
     KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages KubeletFineGrainedAuthz KubeletPSI \
     KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletPodResourcesListUseActivePods \
     KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders KubeletTracing ListFromCacheSnapshot \
     LogarithmicScaleDown LoggingBetaOptions MatchLabelKeysInPodAffinity MatchLabelKeysInPodTopologySpread \
     MatchLabelKeysInPodTopologySpreadSelectorMerge MultiCIDRServiceAllocator MutableCSINodeAllocatableCount \
     MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs MutatingAdmissionPolicy \
     NFTablesProxyMode NodeDeclaredFeatures NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap \
     NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching OrderedNamespaceDeletion PLEGOnDemandRelist \
     PodDeletionCost PodLevelResources PodLifecycleSleepAction PodLifecycleSleepActionAllowZero \
     PodObservedGenerationTracking PodReadyToStartContainersCondition PodSchedulingReadiness \
     PodTopologyLabelsAdmission PortForwardWebsockets PreferSameTrafficDistribution PreventStaticPodAPIReferences \
     ProcMountType RecoverVolumeExpansionFailure RecursiveReadOnlyMounts RelaxedDNSSearchValidation \
     RelaxedEnvironmentVariableValidation RelaxedServiceNameValidation ReloadKubeletClientCAFile \
     ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResilientWatchCacheInitialization ResourceHealthStatus \
     ResourceHealthStatusMessage RestartAllContainersOnContainerExits RetryGenerateName \
     RotateKubeletServerCertificate SELinuxChangePolicy SELinuxMountReadWriteOncePod SchedulerAsyncPreemption \
     SchedulerPopFromBackoffQ SchedulerQueueingHints SeparateTaintEvictionController \
     ServiceAccountNodeAudienceRestriction ServiceAccountTokenJTI ServiceAccountTokenNodeBinding \
     ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo ServiceCIDRStatusFieldWiping \
     SidecarContainers SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob \
     StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison \
     StorageNamespaceIndex StorageVersionHash StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf \
     StrictIPCIDRValidation StructuredAuthenticationConfiguration StructuredAuthenticationConfigurationEgressSelector \
     StructuredAuthenticationConfigurationJWKSMetrics SupplementalGroupsPolicy SystemdWatchdog \
     TokenRequestServiceAccountUIDValidation TopologyManagerPolicyBetaOptions TopologyManagerPolicyOptions \
     TranslateStreamCloseWebsocketRequests UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy \
     UserNamespacesSupport VolumeAttributesClass WatchCacheInitializationPostStartHook WatchList WinDSR WinOverlay \
     WindowsGracefulNodeShutdown";

/// The gates that are off by default.
const OFF: &str = "APIServingWithRoutine AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests \
     AllowOverwriteTerminationGracePeriodSeconds AllowUnsafeMalformedObjectDeletion CBORServingAndStorage \
     CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ChangeContainerStatusOnKubeletRestart \
     CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook ClusterTrustBundle \
     ClusterTrustBundleProjection ConcurrentWatchObjectDecode ContainerStopSignals \
     ControllerManagerReleaseLeaderElectionLockOnExit CoordinatedLeaderElection CrossNamespaceVolumeDataSource \
     DRADeviceTaintRules DRAListTypeAttributes DRANodeAllocatableResources DRAResourcePoolStatus \
     DRAWorkloadResourceClaims DeclarativeValidationTakeover EventedPLEG GangScheduling GenericWorkload \
     GitRepoVolumeDriver HPAScaleToZero ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs \
     InPlacePodVerticalScalingExclusiveMemory KMSv1 KubeletInUserNamespace KubeletRegistrationGetOnExistsOnly \
     LocalStorageCapacityIsolationFSQuotaMonitoring LoggingAlphaOptions ManifestBasedAdmissionControlConfig \
     MaxUnavailableStatefulSet MemoryQoS MutablePVNodeAffinity NativeHistograms PersistentVolumeClaimUnusedSinceTime \
     PodAndContainerStatsFromCRI PodCertificateRequest PodLevelResourceManagers PodLogsQuerySplitStreams PodsAPI \
     QOSReserved ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi SELinuxMount SchedulerAsyncAPICalls \
     SeparateCacheWatchRPC ShardedListAndWatch StorageCapacityScoring StorageVersionAPI StorageVersionMigrator \
     TaintTolerationComparisonOperators TopologyAwareWorkloadScheduling TopologyManagerPolicyAlphaOptions \
     UserNamespacesHostNetworkSupport VolumeLimitScaling WindowsCPUAndMemoryAffinity WindowsHostNetwork \
     WorkloadAwarePreemption WorkloadWithJob";

/// Checks the value of `--feature-gates`: names and values, such as `A=true,B=false`.
///
/// # Errors
///
/// Returns the message of kube-apiserver for a gate that does not exist or has no value, and one of ours for a value that is
/// not the default.
pub(super) fn check(value: &str) -> Result<(), String> {
    for gate in value
        .split(',')
        .map(str::trim)
        .filter(|gate| !gate.is_empty())
    {
        let invalid = |why: String| invalid("feature-gates", value, why);
        let (name, given) = gate
            .split_once('=')
            .ok_or_else(|| invalid(format!("missing bool value for {gate}")))?;
        let name = name.trim().strip_prefix("kube:").unwrap_or(name.trim());
        let given = go_bool(given.trim())
            .map_err(|why| invalid(format!("invalid value of {gate}, err: {why}")))?;
        let default =
            default(name).ok_or_else(|| invalid(format!("unrecognized feature gate: {name}")))?;
        if Some(given) != default {
            return Err(format!(
                "--feature-gates={name}={given} is not supported by kubewright: feature gates have the defaults of Kubernetes \
                 1.36; omit the gate, or run this test with the real program"
            ));
        }
    }
    Ok(())
}

/// Returns the default of a gate, which is `None` for a gate that cannot be set without a difference. The outer option is
/// empty for a gate that does not exist.
fn default(name: &str) -> Option<Option<bool>> {
    match name {
        // Alpha features are off anyway. Some beta features are on and some are off.
        "AllAlpha" => return Some(Some(false)),
        "AllBeta" => return Some(None),
        _ => {}
    }
    let is_in = |list: &str| list.split(' ').any(|gate| gate == name);
    match is_in(ON) {
        true => Some(Some(true)),
        false => is_in(OFF).then_some(Some(false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_have_their_defaults() {
        for value in [
            "",
            "MutatingAdmissionPolicy=true, WatchList=true",
            "kube:CBORServingAndStorage=false,AllAlpha=false",
        ] {
            assert_eq!(check(value), Ok(()), "{value}");
        }
        for (value, expected) in [
            (
                "WatchList=false",
                "--feature-gates=WatchList=false is not supported by kubewright",
            ),
            (
                "HPAScaleToZero=true",
                "--feature-gates=HPAScaleToZero=true is not",
            ),
            ("AllAlpha=true", "--feature-gates=AllAlpha=true is not"),
            ("AllBeta=false", "--feature-gates=AllBeta=false is not"),
        ] {
            let error = check(value).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn errors_about_gates_are_those_of_kube_apiserver() {
        for (value, expected) in [
            ("Nope=true", "unrecognized feature gate: Nope"),
            ("WatchList", "missing bool value for WatchList"),
            (
                "WatchList=maybe",
                "invalid value of WatchList=maybe, err: strconv.ParseBool: parsing \"maybe\": invalid syntax",
            ),
        ] {
            let error = check(value).unwrap_err();
            let expected = format!("for \"--feature-gates\" flag: {expected}");
            assert!(error.ends_with(&expected), "{error}");
        }
    }
}
